"""The console: a live view on a terminal, a block that is drawn again on each tick; else lines."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from orchestrator.formats import clock
from orchestrator.kernel.events import Event, Finished
from orchestrator.storage.history import TrialHistory
from orchestrator.tracking.console.block import block
from orchestrator.tracking.console.log import COLOURS, NOTE, QUIET, Line, Lines, header_lines
from orchestrator.tracking.console.progress import (
    BestSoFar,
    FindBest,
    ReadLoad,
    num_occupied,
    progress_of,
)
from orchestrator.trial import TrialState

_SHARE_OF_TIME = 0.05
"""Share of the driver's time that looking for the best config may take."""


def console(
    stream: TextIO | None = None,
    *,
    past: Iterable[Event] = (),
    find_best: FindBest = lambda _: BestSoFar(),
    read_load: ReadLoad = lambda: None,
) -> Lines:
    """Return the console's tracker: a live view on a terminal, else lines.

    Args:
        stream: The stream to write to. Default: standard output.
        past: Events of earlier processes, which are counted and not shown.
        find_best: Finds the best configs so far, for the live view.
        read_load: Reads the machine's load, for the live view.
    """
    stream = stream or sys.stdout
    is_notebook = "JPY_PARENT_PID" in os.environ  # the output of its cells looks like a terminal
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not is_notebook:
        return LiveView(stream, past, find_best, read_load)
    return Lines(stream, past)


class LiveView(Lines):
    """A view that is drawn on ticks only, so that it costs the trials next to nothing.

    What stays scrolls by above it: a line for each trial that has ended, and notes. It disappears
    at the end, when the summary takes its place. What else is written to standard output or error
    meanwhile, such as a library's warning, comes above it as well.
    """

    has_starts = False

    def __init__(
        self, stream: TextIO, past: Iterable[Event], find_best: FindBest, read_load: ReadLoad
    ) -> None:
        super().__init__(stream, past)
        self._console = Console(file=stream, highlight=False, force_terminal=True)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop"
        )
        self._most_running = 0
        self._find_best = find_best
        self._best = BestSoFar()
        self._is_stale = False  # finding the best imports the analysis: not before a trial's end
        self._find_at = 0.0
        self._read_load = read_load
        self._reasons: set[tuple[TrialState, str]] = set()

    def header(self) -> None:
        """Write what is run, and start the view."""
        for line in header_lines(self._history):
            self._console.print(Text("  ".join(line.parts), style=line.style))
        self._is_stale = self._history.num_concluded > 0
        self._live.start()
        atexit.register(self._live.stop)  # a driver that dies of an error leaves a cursor
        self._draw()

    def happened(self, event: Event, trial: TrialHistory) -> None:
        """Count; write a line for an end, and for configs that cannot run one a reason."""
        self._most_running = max(self._most_running, num_occupied(self._history))
        shown = [each for each in self.lines_of(event, trial) if each.style != NOTE]
        if isinstance(event, Finished):
            self._is_stale = True
            state, reason = event.result.state, event.result.reason
            is_known = (state, reason) in self._reasons
            self._reasons.add((state, reason))
            if is_known and state in (TrialState.INFEASIBLE, TrialState.NOT_RUN):
                shown = [line for line in shown if line.state is None]
        self.write(shown)

    def tick(self) -> None:
        """Draw the view."""
        super().tick()
        if self._live.is_started:
            self._draw()

    def _draw(self) -> None:
        history = self._history
        at = time.time() if not history.sweep.replayed else history.last_at or 0.0
        if self._is_stale and time.monotonic() >= self._find_at:
            self._find()
        now = progress_of(
            history,
            most_running=self._most_running,
            now=at,
            is_stopping=bool(self._interrupt),
        )
        width, elapsed_s = self._console.width, time.monotonic() - self._began
        view = block(now, self._best, elapsed_s=elapsed_s, width=width, load=self._read_load())
        self._live.update(Group(*view), refresh=True)

    def close(self, exit_code: int) -> list[str]:
        """Take the view away; what is worth keeping stands above it."""
        self._live.stop()
        atexit.unregister(self._live.stop)
        return []

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines above the view, each with the time so far."""
        at = Text(f"{clock(time.monotonic() - self._began):>7}", style=QUIET)
        for line in lines:
            text = Text("  ".join(line.parts), style=line.style, overflow="fold")
            if line.state is not None and not line.style:
                text.highlight_words([f"  {line.state}  "], COLOURS[line.state])
            row = Table.grid(padding=(0, 2))
            row.add_row(at, text)
            self._console.print(row)

    def _find(self) -> None:
        """Find the best configs again; that takes at most one twentieth of the time."""
        began, self._is_stale = time.monotonic(), False
        try:
            self._best = self._find_best(self._history)
        except Exception as error:  # noqa: BLE001 - a view ends no sweep
            self.note(f"the best so far is not known: {type(error).__name__}: {error}")
            self._best, self._find_best = BestSoFar(), lambda _: BestSoFar()
        ended = time.monotonic()
        if self._find_at:  # the first one imports the analysis
            self._find_at = ended + (ended - began) / _SHARE_OF_TIME
        self._find_at = self._find_at or ended
