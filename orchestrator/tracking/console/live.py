"""The live view: one block of lines at the bottom of a terminal, drawn again on each tick."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.best import BestSoFar, FindBest
from orchestrator.tracking.console.lines import WRITING, introduction, label, name, outcome
from orchestrator.tracking.console.progress import (
    Progress,
    num_occupied,
    progress_of,
    share_done,
)
from orchestrator.tracking.console.wording import SPEED, duration, figure, short
from orchestrator.trial import TrialState

_MAX_RUNNING = 5
_MAX_HELD_UP = 2
_COLOURS = {
    TrialState.COMPLETED: "green",
    TrialState.STOPPED: "cyan",
    TrialState.INFEASIBLE: "yellow",
    TrialState.FAILED: "red",
    TrialState.NOT_RUN: "bright_black",
}
_QUIET = "dim"
_SHARE_OF_TIME = 0.05
"""Share of the driver's time that looking for the best config may take."""
_SPEED_HEADS = ("samples/s", "vs base")


class LiveView:
    """A view that is drawn on ticks only, so that it costs the trials next to nothing.

    What should stay (failures, notes) scrolls by above it. It is gone at the end, when the
    summary takes its place.
    """

    def __init__(self, stream: TextIO, find_best: FindBest) -> None:
        self._console = Console(file=stream, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._began = time.monotonic()
        self._most_running = 0
        self._best = _Best(find_best, self.note)
        self._reasons: set[str] = set()

    def header(self, history: SweepHistory) -> None:
        """Start the view."""
        self._console.print(Text(introduction(history), style="bold"))
        self._live.start()
        atexit.register(self._live.stop)  # a driver that dies of an error leaves a cursor
        self.refresh(history)

    def happened(self, kind: str, trial: TrialHistory, history: SweepHistory) -> None:
        """Count; print a trial that has failed for good, once a reason."""
        self._most_running = max(self._most_running, num_occupied(history))
        result = trial.result
        if kind != "finished" or result is None:
            return
        self._best.is_stale = True
        if result.state in (TrialState.FAILED, TrialState.INFEASIBLE):
            if result.reason not in self._reasons:
                line = Text(f"✗ {outcome(trial, [])}  ", style=_COLOURS[result.state])
                self._console.print(line.append(label(trial, history), style=_QUIET))
            self._reasons.add(result.reason)

    def note(self, text: str) -> None:
        """Print a note above the view, for good."""
        self._console.print(Text(f"! {text}", style="bold yellow"))

    def refresh(self, history: SweepHistory) -> None:
        """Draw the view."""
        now = progress_of(history, most_running=self._most_running, now=time.time())
        elapsed_s = time.monotonic() - self._began
        lines = _view(history, now, self._best.of(history), elapsed_s)
        self._live.update(Group(*lines), refresh=True)

    def ended(self) -> None:
        """Take the view away: nothing in it moves any more."""
        self.close()
        self._console.print(Text(WRITING, style=_QUIET))

    def close(self) -> None:
        """Take the view away."""
        self._live.stop()
        atexit.unregister(self._live.stop)


class _Best:
    """The best configs so far, found again on the first tick after a trial has ended.

    Attributes:
        is_stale: True where a trial has ended since they were found.
    """

    def __init__(self, find: FindBest, note: Callable[[str], None]) -> None:
        self._find = find
        self._note = note
        self._found = BestSoFar()
        self._next_at = 0.0
        self.is_stale = True

    def of(self, history: SweepHistory) -> BestSoFar:
        """Return them; to find them takes at most one twentieth of the time."""
        began = time.monotonic()
        if self.is_stale and began >= self._next_at:
            self.is_stale = False
            try:
                self._found = self._find(history)
            except Exception as error:  # noqa: BLE001 - a view ends no sweep
                self._note(f"the best so far is not known: {type(error).__name__}: {error}")
                self._found, self._find = BestSoFar(), lambda _: BestSoFar()
            ended = time.monotonic()
            self._next_at = ended + (ended - began) / _SHARE_OF_TIME
        return self._found


def _view(
    history: SweepHistory, now: Progress, best: BestSoFar, elapsed_s: float
) -> Iterator[RenderableType]:
    yield _overall(now, elapsed_s)
    yield _states(now)
    if best.leaders or now.running:
        yield from _table(history, now, best)
    for trial in now.held_up[:_MAX_HELD_UP]:
        waited = duration(time.time() - trial.waits_since)
        words = f"{name(trial)} has waited {waited} for {trial.waits_for}"
        yield Text(words, style="yellow", no_wrap=True, overflow="ellipsis")


def _overall(now: Progress, elapsed_s: float) -> Table:
    total = now.num_total
    begun = sum(share_done(trial) for trial in now.running)
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True)
    bar = ProgressBar(
        total=total or None,
        completed=now.num_done + begun,
        pulse=total is None,
        complete_style="green",
        finished_style="green",
    )
    done = f"{now.num_done} done" if total is None else f"{now.num_done} of {total} done"
    left = "" if now.left_s is None else f", about {duration(now.left_s)} left"
    grid.add_row(bar, Text(f"{done}, {duration(elapsed_s)} so far{left}"))
    return grid


def _states(now: Progress) -> Text:
    known = [(state, now.states[state]) for state in TrialState if now.states[state]]
    parts = [Text(f"{count} {state}", style=_COLOURS[state]) for state, count in known]
    parts.append(Text(f"{len(now.running)} running", style="bold"))
    if now.num_waiting is not None:
        parts.append(Text(f"{now.num_waiting} waiting", style=_QUIET))
    return Text("  ").join(parts)


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A line of the table: a leading config or a running trial."""

    title: Text
    cells: list[str]
    tail: str = ""


def _table(history: SweepHistory, now: Progress, best: BestSoFar) -> Iterator[Text]:
    """Yield leaders and running trials in the same columns, so that they can be compared."""
    running = now.running[:_MAX_RUNNING]
    figures = [trial.figures() for trial in running]
    metrics = _metrics([*(leader.figures for leader in best.leaders), *figures], history)
    knobs = list(history.sweep.space)
    rows = [_Row(title=Text("best so far", style=_QUIET), cells=[*_heads(metrics), *knobs])]
    for leader in best.leaders:
        cells = _figures(leader.figures, metrics, best.baseline) + _values(leader.config, knobs)
        rows.append(_Row(title=Text(leader.title, style="green"), cells=cells))
    num_nodes = len({trial.node for trial in history.trials.values() if trial.node})
    for trial, known in zip(running, figures, strict=True):
        cells = _figures(known, metrics, best.baseline) + _values(trial.trial.config, knobs)
        where = f" on {trial.node}" if num_nodes > 1 else ""
        rows.append(_Row(title=_pace(trial), cells=cells, tail=name(trial) + where))
    yield from _aligned(rows)
    if len(now.running) > len(running):
        yield Text(f"and {len(now.running) - len(running)} more are running", style=_QUIET)


def _metrics(figures: Sequence[Mapping[str, float]], history: SweepHistory) -> list[str]:
    """Return the objectives, and the speed first where it is known."""
    named = [objective.metric for objective in history.sweep.objectives]
    speed = [SPEED] if any(SPEED in known for known in figures) else []
    return list(dict.fromkeys([*speed, *named]))


def _heads(metrics: list[str]) -> list[str]:
    return [head for m in metrics for head in (_SPEED_HEADS if m == SPEED else (m,))]


def _figures(known: Mapping[str, float], metrics: list[str], baseline: float | None) -> list[str]:
    texts = list[str]()
    for metric in metrics:
        value = known.get(metric)
        texts.append("" if value is None else figure(metric, value).removesuffix("/s").rstrip())
        if metric == SPEED:
            texts.append(f"{value / baseline:.2f}x" if value and baseline else "")
    return texts


def _values(config: Mapping[str, Any], knobs: list[str]) -> list[str]:
    return [short(config[knob]) if knob in config else "" for knob in knobs]


def _pace(trial: TrialHistory) -> Text:
    """Return the progress of a running trial: a bar of six, its epoch, its age."""
    filled = round(6 * share_done(trial))
    epoch = trial.reports[-1][1].epoch if trial.reports else 0
    age = duration(time.time() - (trial.started_at or time.time()))
    bar = Text().append("━" * filled, style="green").append("━" * (6 - filled), style=_QUIET)
    return bar.append(f" {epoch}/{trial.trial.budget.epochs} {age}", style="bold")


def _aligned(rows: list[_Row]) -> Iterator[Text]:
    title_width = max(len(row.title) for row in rows)
    widths = [max(map(len, column)) for column in zip(*(row.cells for row in rows), strict=True)]
    for index, row in enumerate(rows):
        line = Text().append_text(row.title).append(" " * (title_width - len(row.title)))
        for text, width in zip(row.cells, widths, strict=True):
            line.append(f"  {text:>{width}}", style=_QUIET if index == 0 else "")
        line.append(f"  {row.tail}", style=_QUIET)
        line.no_wrap, line.overflow = True, "ellipsis"
        yield line
