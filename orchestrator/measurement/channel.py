"""Where a trial's reports go, and how it hears that it is to end."""

from __future__ import annotations

from typing import Protocol

from orchestrator.trial import Report


class TrialStopped(BaseException):
    """Raised by :meth:`~orchestrator.measurement.run.Run.report` in a trial that is to end here.

    No ``Exception``, so that a loop which survives errors does not survive this.
    """


class Channel(Protocol):
    """Where a trial's reports go."""

    def report(self, report: Report) -> bool:
        """Hands on a report; returns whether the trial is to stop."""
