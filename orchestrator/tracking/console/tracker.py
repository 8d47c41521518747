"""The console's tracker: a live view on a terminal, plain lines in a file, a pipe or a notebook."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

from orchestrator.kernel.events import Ended, Event, Noted
from orchestrator.kernel.parts import Fold
from orchestrator.storage.history import SweepHistory
from orchestrator.tracking.console.live import LiveView
from orchestrator.tracking.console.log import Lines
from orchestrator.tracking.console.progress import BestSoFar, FindBest, ReadLoad


class ConsoleTracker(Fold):
    """A sweep on a terminal or in a log."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        past: Iterable[Event] = (),
        find_best: FindBest = lambda _: BestSoFar(),
        read_load: ReadLoad = lambda: None,
        expected_s: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Choose the view.

        Args:
            stream: The stream to write to. Default: standard output.
            past: Events of earlier processes, which are counted and not shown.
            find_best: Finds the best configs so far, for the live view.
            read_load: Reads the machine's load, for the live view.
            expected_s: Returns the expected time of a trial, in seconds; called once, for the
                live view.
        """
        stream = stream or sys.stdout
        self._view = (
            LiveView(stream, find_best, read_load, expected_s)
            if _can_move(stream)
            else Lines(stream)
        )
        self._history = SweepHistory(keeps_reports=False)
        for event in past:
            self._history.apply(event)
        self._is_introduced = False
        self._is_over = False
        self._noted: set[str] = set()
        self._interrupt = ""

    def apply(self, event: Event) -> None:
        """Show an event."""
        trial = self._history.apply(event)
        if not self._history.has_begun:
            return
        self._introduce()
        match event:
            case Noted():
                self.note(event.text)
            case Ended():
                self._is_over = True
                self._view.close()
            case _ if trial is not None:
                self._view.happened(event, trial, self._history)

    def tick(self) -> None:
        """Bring the view up to date."""
        if self._history.has_begun and not self._is_over:
            self._introduce()
            self._view.refresh(self._history)

    def close(self, exit_code: int) -> list[str]:
        """Take the live view away; what is worth keeping stands above it."""
        self._view.close()
        return []

    def note(self, text: str) -> None:
        """Show something that the user should know; the same text only once."""
        if text not in self._noted:
            self._noted.add(text)
            self._view.note(text)

    def interrupted(self, text: str) -> None:
        """Take what to show of an interrupt, at the next event or tick.

        A signal's handler may call it: nothing is written here, since the signal may have come
        amid another write.
        """
        self._interrupt = text

    def phase(self, text: str) -> None:
        """Show what is done after the last trial."""
        self._view.phase(text)

    def _introduce(self) -> None:
        """Show what is run, at first, and an interrupt once."""
        if not self._is_introduced:
            self._is_introduced = True
            self._view.header(self._history)
        text, self._interrupt = self._interrupt, ""
        if text:
            self._view.stopping(text)


def _can_move(stream: TextIO) -> bool:
    """Return True if ``stream`` is a terminal on which lines can be drawn again.

    The output of a notebook's cell looks like one.
    """
    is_notebook = "JPY_PARENT_PID" in os.environ
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not is_notebook
