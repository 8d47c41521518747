"""The console's tracker: a live view on a terminal, plain lines in a file or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, TextIO

from orchestrator.storage.events import Ended, Event, Noted, word_of
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.best import BestSoFar, FindBest
from orchestrator.tracking.console.lines import Lines
from orchestrator.tracking.console.live import LiveView
from orchestrator.tracking.console.load import ReadLoad


class View(Protocol):
    """A view of a sweep on the console."""

    def header(self, history: SweepHistory) -> None:
        """Show that the sweep begins, or goes on."""

    def happened(self, kind: str, trial: TrialHistory, history: SweepHistory) -> None:
        """Show an event of a trial: ``asked``, ``waiting``, ``started``, ``finished``, ..."""

    def note(self, text: str) -> None:
        """Show something that the user should know."""

    def refresh(self, history: SweepHistory) -> None:
        """Bring the view up to date; called about twice a second."""

    def stopping(self, text: str) -> None:
        """Show that the sweep was interrupted, and what happens now."""

    def ended(self) -> None:
        """Show that no trial runs any more."""

    def phase(self, text: str) -> None:
        """Show what is done after the last trial."""

    def close(self) -> None:
        """Take the view away: nothing more will come."""


class ConsoleTracker:
    """A sweep on a terminal or in a log; a :class:`~orchestrator.tracking.base.Tracker`."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        find_best: FindBest = lambda _: BestSoFar(),
        read_load: ReadLoad = lambda: None,
        expected_s: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Choose the view.

        Args:
            stream: The stream to write to. Default: standard output.
            find_best: Finds the best configs so far, for the live view.
            read_load: Reads the machine's load, for the live view.
            expected_s: Returns what a trial is expected to take, in seconds; asked once, for the
                live view.
        """
        stream = stream or sys.stdout
        self._view: View = (
            LiveView(stream, find_best, read_load, expected_s)
            if _can_move(stream)
            else Lines(stream)
        )
        self._history = SweepHistory(keeps_reports=False)
        self._introduced = False
        self._over = False
        self._noted: set[str] = set()
        self._interrupt = ""

    def resume(self, past: Sequence[Event]) -> None:
        """Count what an earlier process did."""
        for event in past:
            self._history.apply(event)

    def apply(self, event: Event) -> None:
        """Show an event."""
        trial = self._history.apply(event)
        if not self._history.has_begun:
            return
        self._introduce()
        self._tell_of_the_interrupt()
        if isinstance(event, Noted):
            self.note(event.text)
        elif isinstance(event, Ended):
            self._over = True
            self._view.ended()
        elif trial is not None:
            self._view.happened(word_of(event), trial, self._history)

    def tick(self) -> None:
        """Bring the view up to date."""
        if self._history.has_begun and not self._over:
            self._introduce()
            self._tell_of_the_interrupt()
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

    def _tell_of_the_interrupt(self) -> None:
        text, self._interrupt = self._interrupt, ""
        if text:
            self._view.stopping(text)

    def _introduce(self) -> None:
        if self._introduced:
            return
        self._introduced = True
        self._view.header(self._history)


def _can_move(stream: TextIO) -> bool:
    """Return True if ``stream`` is a terminal on which lines can be drawn again."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
