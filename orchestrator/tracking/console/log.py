"""The lines that stay: one for an end, a note or a new phase, the same in a file and on a terminal.

A line names only the knobs that vary within the sweep and differ from the baseline's, which the
first lines name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.formats import clock, counted
from orchestrator.kernel.events import Event, Finished, Started, Waiting
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.progress import SEARCH, phase_of_trial
from orchestrator.tracking.console.wording import (
    SPEED,
    differing,
    named_figure,
    printable,
    settings,
)
from orchestrator.trial import Stage, TrialResult, TrialState

COLOURS = {
    TrialState.COMPLETED: "green",
    TrialState.STOPPED: "cyan",
    TrialState.INFEASIBLE: "yellow",
    TrialState.FAILED: "red",
    TrialState.NOT_RUN: "bright_black",
}
QUIET, BOLD, NOTE = "dim", "bold", "bold yellow"


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


class Log:
    """Makes lines of a sweep's events.

    Args:
        starts: True where starts have lines as well.
    """

    def __init__(self, *, starts: bool) -> None:
        self._starts = starts
        self._phases = {SEARCH}
        self._waits: set[tuple[str, str]] = set()
        self._begun: set[str] = set()

    def header(self, history: SweepHistory) -> Iterator[Line]:
        """Yield what is run, and how much of it an earlier process has done."""
        sweep, num_done = history.sweep, history.num_concluded
        yield Line(parts=(introduction(history),), style=BOLD)
        if baseline := tuple(settings(sweep.baseline, sweep.space)):
            first = f"baseline: {baseline[0]}"
            yield Line(parts=(first, *baseline[1:], "(a trial's line names what differs)"))
        if num_done:
            yield Line(parts=(f"going on: {counted(num_done, 'trial')} done before",))

    def happened(self, event: Event, trial: TrialHistory, history: SweepHistory) -> Iterator[Line]:
        """Yield a line for a start, an end, a wait; and for a phase's first trial one before."""
        phase = phase_of_trial(trial.trial, history.sweep)
        if phase not in self._phases:
            self._phases.add(phase)
            yield Line(parts=(f"phase: {phase}",))
        match event:
            case Waiting() if (trial.trial.id, trial.waits_for) not in self._waits:
                self._waits.add((trial.trial.id, trial.waits_for))
                yield note(wait(trial))
            case Started() if self._starts:
                yield self._start(trial, history)
            case Finished():
                count = f"{_count(history):{self._width(history)}}"
                parts = (count, *label(trial, history), *outcome(trial, history))
                yield Line(parts=parts, style=_style(event.result), state=event.result.state)

    def _start(self, trial: TrialHistory, history: SweepHistory) -> Line:
        """Return the line of a start; another one of the same trial is marked."""
        again = ("again",) if trial.trial.id in self._begun else ()
        self._begun.add(trial.trial.id)
        return Line(parts=(f"{'start':{self._width(history)}}", *label(trial, history), *again))

    def _width(self, history: SweepHistory) -> int:
        """Return the width of the first column, so that ids stand below each other."""
        count = 2 * len(str(history.sweep.num_planned or "")) + 1
        return max(len("start"), count) if self._starts else count


def note(text: str) -> Line:
    """Return a note, with a mark that can be searched for."""
    return Line(parts=(f"! {printable(text)}",), style=NOTE)


def introduction(history: SweepHistory) -> str:
    """Return one line that describes the sweep."""
    sweep = history.sweep
    planned = sweep.num_planned
    parts = [
        f"{sweep.trainable} on {sweep.data}" if sweep.data else sweep.trainable,
        "trials as the search asks" if planned is None else counted(planned, "trial"),
        f"{counted(sweep.cores_per_trial, 'core')} a trial",
        f"seed {sweep.seed}",
    ]
    return f"{sweep.name}: {', '.join(parts)}"


def wait(trial: TrialHistory, num_more: int = 0) -> str:
    """Return for how long a trial has waited, and what for; ``num_more`` wait for the same."""
    waited = clock(time.time() - trial.waits_since)
    has = f"and {num_more} more have" if num_more else "has"
    return f"{name(trial)} {has} waited {waited} for {printable(trial.waits_for)}"


def outcome(trial: TrialHistory, history: SweepHistory) -> Iterator[str]:
    """Yield a trial's state, its figures or the reason why it has none, and its time."""
    result = trial.result
    assert result is not None
    if result.state in (TrialState.COMPLETED, TrialState.STOPPED):
        yield str(result.state)
        yield from figures(trial, history)
    else:
        reason = (result.reason or "no reason given").splitlines()[0]
        yield f"{str(result.state).replace('_', ' ')}: {printable(reason)}"
    if result.wall_s is not None:
        yield f"{result.wall_s:.1f} s"


def figures(trial: TrialHistory, history: SweepHistory) -> Iterator[str]:
    """Yield the speed and the objectives of a trial, as far as they are known."""
    known = trial.figures()
    for metric in dict.fromkeys([SPEED, *(each.metric for each in history.sweep.objectives)]):
        if metric in known:
            yield named_figure(metric, known[metric])


def name(trial: TrialHistory) -> str:
    """Return the first of a trial's id, with its stage and repeat where they are special."""
    asked = trial.trial
    stage = "" if asked.stage is Stage.TRAIN else f" {asked.stage}"
    return asked.id[:6] + stage + (f" #{asked.repeat + 1}" if asked.repeat else "")


def label(trial: TrialHistory, history: SweepHistory) -> tuple[str, ...]:
    """Return a trial's name and the knobs in which it differs from the baseline."""
    sweep = history.sweep
    return name(trial), *differing(trial.trial.config, sweep.baseline, sweep.space)


def _count(history: SweepHistory) -> str:
    planned = history.sweep.num_planned
    of = "" if planned is None else f"/{max(planned, len(history.trials))}"
    return f"{history.num_concluded}{of}"


def _style(result: TrialResult) -> str:
    """Return the style of the line of an end; where a trial has trained its state is coloured."""
    has_trained = result.state in (TrialState.COMPLETED, TrialState.STOPPED)
    return "" if has_trained else COLOURS[result.state]
