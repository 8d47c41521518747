"""The live view: a block of lines at the bottom of a terminal, drawn again on each tick."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from rich.console import Console, Group
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType
from rich.text import Text

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.best import BestSoFar, FindBest
from orchestrator.tracking.console.block import COLOURS, QUIET, Scene, block
from orchestrator.tracking.console.flow import flowed
from orchestrator.tracking.console.load import ReadLoad
from orchestrator.tracking.console.log import Line, Log, Tone, note
from orchestrator.tracking.console.progress import num_occupied, progress_of
from orchestrator.tracking.console.wording import duration
from orchestrator.trial import TrialState

_SHARE_OF_TIME = 0.05
"""Share of the driver's time that looking for the best config may take."""
_UNKNOWN_SIZE = (80, 24)
_WIDE = 60
"""Columns from which on what goes on in a next line is indented as far as the first one's text."""
_TONES = {Tone.HEAD: "bold", Tone.NOTE: "bold yellow", Tone.PLAIN: ""}


class LiveView:
    """A view that is drawn on ticks only, so that it costs the trials next to nothing.

    What stays scrolls by above it: a line for each trial that has ended, and notes. It is gone at
    the end, when the summary takes its place. What else is written to standard output or error
    meanwhile, such as a library's warning, comes above it as well.
    """

    def __init__(
        self,
        stream: TextIO,
        find_best: FindBest,
        read_load: ReadLoad,
        expected_s: Callable[[], float | None],
    ) -> None:
        self._stream = stream
        self._console = Console(file=stream, highlight=False, force_terminal=True)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop"
        )
        self._began = time.monotonic()
        self._log = Log(starts=False)
        self._most_running = 0
        self._best = _Best(find_best, self.note)
        self._read_load = read_load
        self._expected: Callable[[], float | None] = expected_s
        self._expected_s: float | None = None
        self._reasons: set[tuple[TrialState, str]] = set()
        self._stopping = ""
        self._drawn: list[Text] = []
        self._size = (0, 0)
        self._resize()

    def header(self, history: SweepHistory) -> None:
        """Write what is run, and start the view."""
        self._print(self._log.header(history), elapsed=False)
        self._best.is_stale = history.num_concluded > 0
        self._expected_s = self._expected()
        self._live.start()
        atexit.register(self._live.stop)  # a driver that dies of an error leaves a cursor
        self.refresh(history)

    def happened(self, kind: str, trial: TrialHistory, history: SweepHistory) -> None:
        """Count; write a line for an end, and for configs that cannot run one a reason."""
        self._most_running = max(self._most_running, num_occupied(history))
        lines = self._log.happened(kind, trial, history)
        shown = [line for line in lines if line.tone is not Tone.NOTE]
        if kind == "finished" and trial.result is not None:
            self._best.is_stale = True
            state, reason = trial.result.state, trial.result.reason
            is_known = (state, reason) in self._reasons
            self._reasons.add((state, reason))
            if is_known and state in (TrialState.INFEASIBLE, TrialState.NOT_RUN):
                shown = [line for line in shown if line.state is None]
        self._print(shown)

    def note(self, text: str) -> None:
        """Write a note above the view, for good."""
        self._print([note(text)])

    def refresh(self, history: SweepHistory) -> None:
        """Draw the view."""
        at = time.time() if not history.sweep.replayed else history.last_at or 0.0
        now = progress_of(
            history, most_running=self._most_running, now=at, expected_s=self._expected_s
        )
        scene = Scene(
            history=history,
            now=now,
            at=at,
            best=self._best.of(history),
            elapsed_s=time.monotonic() - self._began,
            load=self._read_load(),
            stopping=self._stopping,
            ascii_only=self._console.options.ascii_only,
        )
        self._resize()
        width, height = self._console.size
        self._drawn = block(scene, width, height - 1)
        self._live.update(Group(*self._drawn), refresh=True)

    def stopping(self, text: str) -> None:
        """Write that the sweep is interrupted, and keep saying so."""
        self._stopping = "stopping:"
        self.note(text)

    def phase(self, text: str) -> None:
        """Write what is done after the last trial."""
        self._console.print(Text(text, style=QUIET))

    def ended(self) -> None:
        """Take the view away: nothing in it moves any more."""
        self.close()

    def close(self) -> None:
        """Take the view away."""
        self._resize()
        self._live.stop()
        atexit.unregister(self._live.stop)

    def _print(self, lines: Iterable[Line], *, elapsed: bool = True) -> None:
        self._resize()
        width = self._console.width
        at = f"{duration(time.monotonic() - self._began):>7}"
        for line in lines:
            style = COLOURS[line.state] if line.state is not None else _TONES[line.tone]
            time_of = [Text(at, style=QUIET)] if elapsed else []
            parts = [*time_of, *(Text(part, style=style) for part in line.parts)]
            if line.state in (TrialState.COMPLETED, TrialState.STOPPED):
                parts = [*time_of, *map(_coloured, line.parts)]
            indent = 2 if width < _WIDE or not elapsed else len(at) + 2
            self._console.print(Group(*flowed(parts, width, indent=indent)))

    def _resize(self) -> None:
        """Take the terminal's size; after a change make the next drawing begin where the last did.

        A terminal that has become narrower has broken the lines that were wider, so that there
        are more of them to draw over.
        """
        before, now = self._size, _size(self._stream)
        if now == before:
            return
        # Set, since the console would ask standard input first.
        self._size = self._console.size = now
        if self._live.is_started and now[0] < before[0]:
            rows = sum(-(-max(1, line.cell_len) // now[0]) for line in self._drawn)
            back = (ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1)
            self._console.control(Control(*(back * (rows - len(self._drawn)))))


def _size(stream: TextIO) -> tuple[int, int]:
    """Return columns and lines of a terminal; of one that does not tell, 80 by 24."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return _UNKNOWN_SIZE
    return size.columns or _UNKNOWN_SIZE[0], size.lines or _UNKNOWN_SIZE[1]


def _coloured(part: str) -> Text:
    """Return a part of a line with the state's name in its colour."""
    state = TrialState(part) if part in (TrialState.COMPLETED, TrialState.STOPPED) else None
    return Text(part, style=COLOURS[state] if state is not None else "")


class _Best:
    """The best configs so far, found again on the first tick after a trial has ended.

    Attributes:
        is_stale: True where a trial has ended since they were found; False before any has, since
            to find them imports the analysis, which would delay the first trial.
    """

    def __init__(self, find: FindBest, note: Callable[[str], None]) -> None:
        self._find = find
        self._note = note
        self._found = BestSoFar()
        self._next_at = 0.0
        self._is_first = True
        self.is_stale = False

    def of(self, history: SweepHistory) -> BestSoFar:
        """Return them; to find them takes at most one twentieth of the time, imports apart."""
        began = time.monotonic()
        if self.is_stale and began >= self._next_at:
            self.is_stale = False
            try:
                self._found = self._find(history)
            except Exception as error:  # noqa: BLE001 - a view ends no sweep
                self._note(f"the best so far is not known: {type(error).__name__}: {error}")
                self._found, self._find = BestSoFar(), lambda _: BestSoFar()
            ended = time.monotonic()
            if not self._is_first:
                self._next_at = ended + (ended - began) / _SHARE_OF_TIME
            self._is_first = False
        return self._found
