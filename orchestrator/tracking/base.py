"""Tracker: the receiver of a sweep's events while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from orchestrator.storage.events import Event


class Tracker(Protocol):
    """A receiver of every event, after the journal.

    None of these calls may raise for a reason outside the program, or wait for anything
    but a local disk (``close`` excepted): a sweep never fails or slows for its trackers.
    """

    def resume(self, past: Sequence[Event]) -> None:
        """Take the whole journal of the run that is resumed; called first."""

    def apply(self, event: Event) -> None:
        """Take an event that was journalled.

        Kinds of events that a tracker does not know are to be ignored.
        """

    def tick(self) -> None:
        """Do regular work; called about twice a second, from the thread that calls ``apply``."""

    def close(self, exit_code: int) -> list[str]:
        """Finish; called once, after everything else is written.

        Returns:
            Lines worth printing last, such as where to look.
        """
