"""The lines that stay: one for an end, a note or a new phase, the same in a file and on a terminal.

A line names only the knobs that vary within the sweep and differ from the baseline's, which the
first lines name.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from orchestrator.formats import clock, counted, rate
from orchestrator.kernel.events import Ended, Event, Finished, Noted, Started, Waiting
from orchestrator.kernel.parts import Fold
from orchestrator.metric_table import unit_of
from orchestrator.storage.history import SweepHistory, TrialHistory, cell_text
from orchestrator.texts import bounded
from orchestrator.tracking.console.progress import SEARCH, phase_of_trial
from orchestrator.trial import Stage, TrialState

SPEED: Final = "samples_per_s"
"""The metric that a trial's speed is read from."""
COLOURS: Final = {
    TrialState.COMPLETED: "green",
    TrialState.STOPPED: "cyan",
    TrialState.INFEASIBLE: "yellow",
    TrialState.FAILED: "red",
    TrialState.NOT_RUN: "bright_black",
}
QUIET, BOLD, NOTE = "dim", "bold", "bold yellow"

_TRAINED: Final = (TrialState.COMPLETED, TrialState.STOPPED)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line.

    Attributes:
        parts: Its parts, in order.
        style: Its style on a terminal.
        state: The trial's state, for the end of a trial.
    """

    parts: tuple[str, ...]
    style: str = ""
    state: TrialState | None = None


class Lines(Fold):
    """A sweep as lines that stay: in a file, a pipe, or a terminal that cannot move its cursor."""

    has_starts = True
    """True where starts have lines as well, since nothing else shows them."""

    def __init__(self, stream: TextIO, past: Iterable[Event] = ()) -> None:
        """Write nothing before the first event.

        Args:
            stream: The stream to write to.
            past: Events of earlier processes, which are counted and not shown.
        """
        self._stream = stream
        self._began = time.monotonic()
        self._phases = {SEARCH}
        self._once: set[tuple[str, ...]] = set()
        self._history = SweepHistory(keeps_reports=False)
        for event in past:
            self._history.apply(event)
        self._has_header = False
        self._interrupt = ""

    def apply(self, event: Event) -> None:
        """Show an event."""
        trial = self._history.apply(event)
        self.tick()
        match event:
            case Noted():
                self.note(event.text)
            case Ended():
                self.close(event.exit_code)
            case _ if trial is not None and self._history.has_begun:
                self.happened(event, trial)

    def tick(self) -> None:
        """Show the first lines, once, and an interrupt."""
        if not self._history.has_begun:
            return
        if not self._has_header:
            self._has_header = True
            self.header()
        if self._interrupt:
            self.note(self._interrupt)

    def header(self) -> None:
        """Write what is run, and how much of it an earlier process has done."""
        self.write(header_lines(self._history))

    def happened(self, event: Event, trial: TrialHistory) -> None:
        """Write the lines of an event of a trial."""
        self.write(self.lines_of(event, trial))

    def note(self, text: str) -> None:
        """Write something that the user should know, once, with a mark to search for."""
        if self._is_first(text):
            self.write([Line(parts=(f"! {bounded(text)}",), style=NOTE)])

    def interrupted(self, text: str) -> None:
        """Take what to show of an interrupt, at the next event or tick.

        A signal's handler may call it: nothing is written here, since the signal may have come
        amid another write.
        """
        self._interrupt = text

    def phase(self, text: str) -> None:
        """Write what is done after the last trial."""
        self.write([Line(parts=(text,))])

    def close(self, exit_code: int) -> list[str]:
        """Flush the stream: no trial runs any more."""
        self._stream.flush()
        return []

    def _is_first(self, *words: str) -> bool:
        is_first = words not in self._once
        self._once.add(words)
        return is_first

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines, each with the time so far."""
        for line in lines:
            at = clock(time.monotonic() - self._began)
            self._stream.write(f"{at:>7}  {'  '.join(line.parts)}\n")
        self._stream.flush()

    def lines_of(self, event: Event, trial: TrialHistory) -> Iterator[Line]:
        """Yield a line for a start, an end, a wait; and for a phase's first trial one before."""
        history = self._history
        phase = phase_of_trial(trial.trial, history.sweep)
        if phase not in self._phases:
            self._phases.add(phase)
            yield Line(parts=(f"phase: {phase}",))
        planned = history.sweep.num_planned
        width = max(5 * self.has_starts, 2 * len(str(planned or "")) + 1)  # ids below each other
        match event:
            case Waiting() if self._is_first(trial.trial.id, trial.waits_for):
                yield Line(parts=(f"! {wait(trial)}",), style=NOTE)
            case Started() if self.has_starts:
                yield Line(parts=(f"{'start':{width}}", *label(trial, history)))
            case Finished():
                result = event.result
                of = "" if planned is None else f"/{max(planned, len(history.trials))}"
                count = f"{history.num_concluded}{of}"
                parts = (f"{count:{width}}", *label(trial, history), *outcome(trial, history))
                style = "" if result.state in _TRAINED else COLOURS[result.state]
                yield Line(parts=parts, style=style, state=result.state)


def header_lines(history: SweepHistory) -> Iterator[Line]:
    """Yield what is run, and how much of it an earlier process has done."""
    sweep, num_done = history.sweep, history.num_concluded
    planned = sweep.num_planned
    parts = [
        f"{sweep.trainable} on {sweep.data}" if sweep.data else sweep.trainable,
        "trials as the search asks" if planned is None else counted(planned, "trial"),
        f"{counted(sweep.cores_per_trial, 'core')} a trial",
        f"seed {sweep.seed}",
    ]
    yield Line(parts=(f"{sweep.name}: {', '.join(parts)}",), style=BOLD)
    if baseline := settings(sweep.baseline, sweep.space):
        first = f"baseline: {baseline[0]}"
        yield Line(parts=(first, *baseline[1:], "(a trial's line names what differs)"))
    if num_done:
        yield Line(parts=(f"resumed: {counted(num_done, 'trial')} done before",))


def wait(trial: TrialHistory, num_more: int = 0) -> str:
    """Return for how long a trial has waited, and what for; ``num_more`` wait for the same."""
    waited = clock(time.time() - trial.waits_since)
    has = f"and {num_more} more have" if num_more else "has"
    return f"{label_of(trial)} {has} waited {waited} for {bounded(trial.waits_for)}"


def outcome(trial: TrialHistory, history: SweepHistory) -> Iterator[str]:
    """Yield a trial's state, its figures or the reason why it has none, and its time."""
    result = trial.result
    assert result is not None
    if result.state in _TRAINED:
        yield str(result.state)
        yield from figures(trial, history)
    else:
        reason = (result.reason or "no reason given").splitlines()[0]
        yield f"{str(result.state).replace('_', ' ')}: {bounded(reason)}"
    if result.wall_s is not None:
        yield f"{result.wall_s:.1f} s"


def figures(trial: TrialHistory, history: SweepHistory) -> Iterator[str]:
    """Yield the speed and the objectives of a trial, as far as they are known."""
    known = trial.figures()
    for metric in dict.fromkeys([SPEED, *(each.metric for each in history.sweep.objectives)]):
        if metric in known:
            yield named_figure(metric, known[metric])


def label_of(trial: TrialHistory) -> str:
    """Return the first of a trial's id, with its stage and repeat where they are special."""
    asked = trial.trial
    stage = "" if asked.stage is Stage.TRAIN else f" {asked.stage}"
    return asked.id[:6] + stage + (f" #{asked.repeat + 1}" if asked.repeat else "")


def label(trial: TrialHistory, history: SweepHistory) -> tuple[str, ...]:
    """Return a trial's name and the knobs in which it differs from the baseline."""
    sweep = history.sweep
    return label_of(trial), *differing(trial.trial.config, sweep.baseline, sweep.space)


# -- figures and configs as text


def named_figure(metric: str, value: float) -> str:
    """Return a value with its unit or its name: ``41.2k samples/s``, ``val_acc 0.8667``."""
    unit = unit_of(metric)
    if metric == SPEED:
        number, _, unit = rate(value).partition(" ")
        return f"{number}{unit.removesuffix('/s')} samples/s"
    if unit == "1/s":
        return f"{metric} {rate(value)}"
    if metric.endswith(("_acc", "_auc")):
        return f"{metric} {value:.4f}"
    return f"{metric} {value:.4g} {unit}".rstrip()


def settings(config: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the named knobs of a config, each as ``num_workers=3``."""
    return [f"{name}={_short(config[name])}" for name in names if name in config]


def differing(
    config: Mapping[str, Any], baseline: Mapping[str, Any], varied: Iterable[str]
) -> list[str]:
    """Return the varied knobs in which a config differs from the baseline.

    Args:
        config: A value for every knob.
        baseline: The config that is compared with, its values as JSON has them.
        varied: Names of the knobs that vary within the sweep.

    Returns:
        Each as ``num_workers=3``; for the baseline itself the one word ``baseline``.
    """
    unlike = [n for n in varied if cell_text(config.get(n)) != cell_text(baseline.get(n))]
    return settings(config, unlike) or ["baseline"]


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.3g}" if isinstance(value, float) else cell_text(value)
