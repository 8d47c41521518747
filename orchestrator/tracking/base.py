"""What the control loop tells of a sweep while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from orchestrator.storage.journal import Event


class Tracker(Protocol):
    """Someone who is told of every event, after the journal.

    None of these calls may raise for a reason outside the program, or wait for anything
    but a local disk (``close`` excepted): a sweep never fails or slows for its trackers.
    """

    def resume(self, past: Sequence[Event]) -> None:
        """Called first, with the whole journal of the interrupted run that is gone on with."""

    def on_event(self, event: Event) -> None:
        """An event was journalled.

        Kinds of events that a tracker does not know are to be ignored.
        """

    def tick(self) -> None:
        """Called about twice a second, from the thread that calls ``on_event``."""

    def close(self, exit_code: int) -> list[str]:
        """The sweep has ended; called once, after everything else is written.

        Returns:
            Lines worth printing last, such as where to look.
        """
