"""Tracker: a fold of a sweep's events that its user sees."""

from __future__ import annotations

from typing import Protocol

from orchestrator.kernel.events import Event


class Tracker(Protocol):
    """A fold that the user sees, a :class:`~orchestrator.kernel.parts.Fold` that is closed.

    None of these calls may raise for a reason outside the program, or wait for anything
    but a local disk (``close`` excepted): a sweep never fails or slows for its trackers.
    """

    def apply(self, event: Event) -> None:
        """Take an event that was journalled."""

    def tick(self) -> None:
        """Do regular work; called about twice a second, from the thread that calls ``apply``."""

    def close(self, exit_code: int) -> list[str]:
        """Finish; called once, after everything else is written.

        Returns:
            Lines worth printing last, such as where to look.
        """
