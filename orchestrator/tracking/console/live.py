"""The live view: one block of lines at the bottom of a terminal, drawn again on each tick."""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.lines import WRITING, introduction, label, name, outcome
from orchestrator.tracking.console.progress import (
    SPEED,
    Standing,
    num_occupied,
    progress,
    standing,
)
from orchestrator.tracking.console.wording import duration, figure, setting
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
_SPEED_HEADS = ("samples/s", "vs base")


class LiveView:
    """Draws the view on ticks only, so that it costs the trials next to nothing.

    What should stay (failures, notes) scrolls by above it. It is gone at the end, when the
    summary takes its place.
    """

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._began = time.monotonic()
        self._num_slots = 0
        self._reasons: set[str] = set()

    def header(self, record: SweepHistory) -> None:
        """Starts the view."""
        self._console.print(Text(introduction(record), style="bold"))
        self._live.start()
        atexit.register(self._live.stop)  # a driver that dies of an error leaves a cursor
        self.refresh(record)

    def happened(self, kind: str, trial: TrialHistory, record: SweepHistory) -> None:
        """Keeps count; a trial that did not work out is said for good, once a reason."""
        self._num_slots = max(self._num_slots, num_occupied(record))
        result = trial.result
        if kind != "finished" or result is None:
            return
        if result.state in (TrialState.FAILED, TrialState.INFEASIBLE):
            if result.reason not in self._reasons:
                line = Text(f"✗ {outcome(trial, [])}  ", style=_COLOURS[result.state])
                self._console.print(line.append(label(trial, record), style=_QUIET))
            self._reasons.add(result.reason)

    def note(self, text: str) -> None:
        """Says it above the view, for good."""
        self._console.print(Text(f"! {text}", style="bold yellow"))

    def refresh(self, record: SweepHistory) -> None:
        """Draws the view."""
        now = standing(record, num_slots=self._num_slots, now=time.time())
        elapsed_s = time.monotonic() - self._began
        self._live.update(Group(*_view(record, now, elapsed_s)), refresh=True)

    def ended(self) -> None:
        """Takes the view away: nothing in it moves any more."""
        self.close()
        self._console.print(Text(WRITING, style=_QUIET))

    def close(self) -> None:
        """Takes the view away."""
        self._live.stop()
        atexit.unregister(self._live.stop)


def _view(record: SweepHistory, now: Standing, elapsed_s: float) -> Iterator[RenderableType]:
    yield _overall(now, elapsed_s)
    yield _states(now)
    if now.best or now.running:
        yield from _table(now, record)
    for trial in now.held_up[:_MAX_HELD_UP]:
        waited = duration(time.time() - trial.waits_since)
        words = f"{name(trial)} has waited {waited} for {trial.waits_for}"
        yield Text(words, style="yellow", no_wrap=True, overflow="ellipsis")


def _overall(now: Standing, elapsed_s: float) -> Table:
    total = now.num_total
    begun = sum(progress(trial) for trial in now.running)
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


def _states(now: Standing) -> Text:
    known = [(state, now.states[state]) for state in TrialState if now.states[state]]
    parts = [Text(f"{count} {state}", style=_COLOURS[state]) for state, count in known]
    parts.append(Text(f"{len(now.running)} running", style="bold"))
    if now.num_waiting is not None:
        parts.append(Text(f"{now.num_waiting} waiting", style=_QUIET))
    return Text("  ").join(parts)


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A line of the table: what leads, or what runs."""

    title: Text
    cells: list[str]
    tail: str = ""


def _table(now: Standing, record: SweepHistory) -> Iterator[Text]:
    """Leaders and running trials in the same columns, so that they can be compared."""
    running = now.running[:_MAX_RUNNING]
    metrics = _metrics([*(best.trial for best in now.best), *running], record)
    knobs = list(record.sweep.get("space", {}))
    rows = [_Row(title=Text("best so far", style=_QUIET), cells=[*_heads(metrics), *knobs])]
    for best in now.best:
        cells = _figures(best.trial, metrics, now) + _settings(best.trial, knobs)
        rows.append(_Row(title=Text(best.title, style="green"), cells=cells))
    num_nodes = len({trial.node for trial in record.trials.values() if trial.node})
    for trial in running:
        cells = _figures(trial, metrics, now) + _settings(trial, knobs)
        where = f" on {trial.node}" if num_nodes > 1 else ""
        rows.append(_Row(title=_pace(trial), cells=cells, tail=name(trial) + where))
    yield from _aligned(rows)
    if len(now.running) > len(running):
        yield Text(f"and {len(now.running) - len(running)} more are running", style=_QUIET)


def _metrics(trials: list[TrialHistory], record: SweepHistory) -> list[str]:
    """The objectives, and the speed first where it is known."""
    named = [objective["metric"] for objective in record.sweep.get("objectives", [])]
    speed = [SPEED] if any(SPEED in trial.figures() for trial in trials) else []
    return list(dict.fromkeys([*speed, *named]))


def _heads(metrics: list[str]) -> list[str]:
    return [head for m in metrics for head in (_SPEED_HEADS if m == SPEED else (m,))]


def _figures(trial: TrialHistory, metrics: list[str], now: Standing) -> list[str]:
    known, texts = trial.figures(), list[str]()
    for metric in metrics:
        value = known.get(metric)
        texts.append("" if value is None else figure(metric, value).removesuffix("/s").rstrip())
        if metric == SPEED:
            texts.append(f"{value / now.baseline:.2f}x" if value and now.baseline else "")
    return texts


def _settings(trial: TrialHistory, knobs: list[str]) -> list[str]:
    config = trial.trial.config
    return [setting(config[knob]) if knob in config else "" for knob in knobs]


def _pace(trial: TrialHistory) -> Text:
    """How far a running trial is: a bar of six, its epoch, its age."""
    filled = round(6 * progress(trial))
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
