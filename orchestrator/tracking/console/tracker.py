"""What a person sees while a sweep runs: one live view, or plain lines into a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.storage.journal import Event
from orchestrator.tracking.console.lines import Lines
from orchestrator.tracking.console.live import LiveView


class Look(Protocol):
    """How a console shows what happens."""

    def header(self, record: SweepHistory) -> None:
        """The sweep begins, or goes on."""

    def happened(self, kind: str, trial: TrialHistory, record: SweepHistory) -> None:
        """A trial was ``asked`` for, is ``waiting``, has ``started``, ``finished``, ..."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def refresh(self, record: SweepHistory) -> None:
        """About half a second has passed."""

    def ended(self) -> None:
        """No trial runs any more."""

    def close(self) -> None:
        """Nothing more will come."""


class ConsoleTracker:
    """Shows a sweep on a terminal or in a log; a :class:`~orchestrator.tracking.base.Tracker`."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Chooses how to show things.

        Args:
            stream: Where to. Default: standard output.
        """
        self._stream = stream or sys.stdout
        self._look: Look = (
            LiveView(self._stream) if _can_move(self._stream) else Lines(self._stream)
        )
        self._record = SweepHistory()
        self._introduced = False
        self._over = False
        self._said: set[str] = set()

    def resume(self, past: Sequence[Event]) -> None:
        """What an earlier process did only counts."""
        for event in past:
            self._record.apply(event)

    def on_event(self, event: Event) -> None:
        """Shows an event."""
        trial = self._record.apply(event)
        if not self._record.sweep:
            return
        self._introduce()
        kind = event["event"]
        if kind == "note":
            self.note(event["text"])
        elif kind == "ended":
            self._over = True
            self._look.ended()
        elif trial is not None:
            self._look.happened(kind, trial, self._record)

    def tick(self) -> None:
        """Brings the view up to date."""
        if self._record.sweep and not self._over:
            self._introduce()
            self._look.refresh(self._record)

    def close(self, exit_code: int) -> list[str]:
        """Takes the live view away; what is worth keeping stands above it."""
        self._look.close()
        return []

    def note(self, text: str) -> None:
        """Says something that the user should know; the same text only once."""
        if text not in self._said:
            self._said.add(text)
            self._look.note(text)

    def _introduce(self) -> None:
        if self._introduced:
            return
        self._introduced = True
        self._look.header(self._record)


def _can_move(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal on which lines can be drawn again."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
