"""What runs on one lease of cores: the trial of a launch, or several trials in turns.

Of several, one runs and the others are stopped, with their loader workers. Next comes whichever is
least far, so that all end at about the same time, however much faster one is: what a host does
meanwhile is in the times of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.execution.base import Launch, Started, TurnOver, Update
from orchestrator.execution.cores import CoreLeases, Lease, Place
from orchestrator.execution.supervisor import Supervisor
from orchestrator.trial import Trial, TrialResult


@dataclass(kw_only=True)
class _Member:
    """One of the trials.

    Attributes:
        trial: It.
        supervisor: Its own.
        progress: How far it was when its last turn ended, as a fraction of its budget.
        last_turn: Number of that turn.
    """

    trial: Trial
    supervisor: Supervisor
    progress: float = 0.0
    last_turn: int = 0


class TurnTaking:
    """Runs the trials of a launch, each with a supervisor of its own."""

    def __init__(
        self, launch: Launch, leases: CoreLeases, supervisor_of: Callable[[Launch], Supervisor]
    ) -> None:
        """Prepares to run ``launch``; nothing is started yet.

        Args:
            launch: The trial, or the first of those that take turns.
            leases: This node's cores.
            supervisor_of: Makes the supervisor of each.
        """
        self._launch = launch
        self._leases = leases
        self._members = [
            _Member(trial=each.trial, supervisor=supervisor_of(each)) for each in launch.each()
        ]
        self._left = list(self._members)
        self._on_turn: _Member | None = None
        self._num_turns = 0
        self._place = Place()
        self._lease: Lease | None = None
        self._notes: list[str] = []

    @property
    def has_cores(self) -> bool:
        """Whether its cores have been acquired."""
        return self._lease is not None

    @property
    def has_ended(self) -> bool:
        """Whether every trial has."""
        return not self._left

    def acquire_cores(self, timeout_s: float) -> bool:
        """Waits for the cores; returns whether it got them."""
        self._lease = self._leases.acquire(
            self._launch.num_cores, self._launch.isolation, timeout_s=timeout_s, place=self._place
        )
        if self._lease is not None and self._lease.note:
            self._notes.append(f"{self._lease.note}; trials run with isolation shared")
        return self._lease is not None

    def next_update(
        self, timeout_s: float | None = None
    ) -> tuple[Trial, Started | Update | TrialResult] | None:
        """Waits for what comes next of the trial on turn; None if nothing came in time.

        Raises:
            ServerError: A fork server did not come up.
        """
        while True:
            if self._on_turn is None:
                member = self._on_turn = self._next()
                if not member.supervisor.has_started:
                    assert self._lease is not None, "cores are acquired first"
                    member.supervisor.start(self._lease)
                    return member.trial, Started()
                member.supervisor.resume()
            member = self._on_turn
            update = member.supervisor.next_update(timeout_s)
            if isinstance(update, TurnOver):
                member.progress, self._on_turn = update.progress, None
                continue
            if isinstance(update, TrialResult):
                self._ends(member)
            return None if update is None else (member.trial, update)

    def take_notes(self) -> list[str]:
        """What the user should know of how trials run here; each is handed out once."""
        notes, self._notes = self._notes, []
        return notes + [note for member in self._members for note in member.supervisor.take_notes()]

    def stop(self) -> None:
        """Ends them: they may leave their loops at their next reports, if these come soon."""
        for member in self._left:
            if member.supervisor.has_started:
                member.supervisor.stop()
        self.close()

    def close(self) -> None:
        """Kills what still runs and gives the cores back. Safe to call more than once."""
        for member in self._members:
            member.supervisor.close()
        self._place.leave()
        if self._lease is not None:
            self._lease.release()

    def _next(self) -> _Member:
        """Whose turn it is: the least far, of such the one that has waited longest."""
        self._num_turns += 1
        member = min(self._left, key=lambda member: (member.progress, member.last_turn))
        member.last_turn = self._num_turns
        return member

    def _ends(self, member: _Member) -> None:
        self._left.remove(member)
        self._on_turn = None
        if self._left:  # the next turn is to find it gone
            member.supervisor.close()
