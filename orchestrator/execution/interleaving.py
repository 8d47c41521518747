"""The trials of one lease of cores: a single trial, or several interleaved ones.

If there are several, one trains and the others are stopped, with their loader workers. The next
time slice goes to the trial with the least progress. So all end at about the same time, however
much faster one is, and changes of the host's speed affect the times of all of them.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.execution.leases import CoreLeases, Lease, Place
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.kernel.executor import Launch, SliceEnd, Started, Update
from orchestrator.trial import Isolation, Trial, TrialResult

TrialUpdate = tuple[Trial, Started | Update | TrialResult]
"""A trial and its start, a report of it, or its row."""


@dataclass(kw_only=True)
class _Member:
    """One of the interleaved trials.

    Attributes:
        trial: The trial.
        supervisor: Its supervisor.
        progress: Progress at the end of its last slice, as a fraction of its budget.
        last_slice: Number of its last slice.
    """

    trial: Trial
    supervisor: Supervisor
    progress: float = 0.0
    last_slice: int = 0


class Interleaving:
    """Runs the trials of a launch, each with its supervisor."""

    def __init__(
        self, launch: Launch, leases: CoreLeases, supervisor_of: Callable[[Launch], Supervisor]
    ) -> None:
        """Prepare to run ``launch``; nothing is started yet.

        Args:
            launch: The trial, or the first of the interleaved trials.
            leases: This node's cores.
            supervisor_of: Makes the supervisor of each trial.
        """
        self._launch = launch
        self._leases = leases
        self._members = [
            _Member(trial=each.trial, supervisor=supervisor_of(each)) for each in launch.each()
        ]
        self._left = list(self._members)
        self._current: _Member | None = None
        self._num_slices = 0
        self._updates = deque[TrialUpdate]()
        self._place = Place()
        self._lease: Lease | None = None
        self._notes: list[str] = []

    @property
    def has_cores(self) -> bool:
        """Return True once its cores have been acquired."""
        return self._lease is not None

    @property
    def has_ended(self) -> bool:
        """Return True once every trial has ended and all updates were handed out."""
        return not self._left and not self._updates

    def acquire_cores(self, timeout_s: float) -> bool:
        """Wait for the cores; return True if they came free in time.

        A trial that is watched does without cores of its own otherwise.
        """
        num_cores, leases = self._launch.num_cores, self._leases
        self._lease = leases.acquire(
            num_cores, self._launch.isolation, timeout_s=timeout_s, place=self._place
        )
        if self._lease is None and self._launch.watched:
            self._place.leave()
            self._lease = leases.acquire(num_cores, Isolation.SHARED, timeout_s=timeout_s)
            assert self._lease is not None, "a shared lease waits for nothing"
            self._lease.note = f"cores of this node are held by {leases.owners()}"
        if self._lease is None:
            return False
        if self._lease.note:
            self._notes.append(f"{self._lease.note}; trials run with isolation shared")
        return True

    def next_update(self, timeout_s: float | None = None) -> TrialUpdate | None:
        """Wait for the next update of any trial; return None if none came in time.

        Raises:
            ServerError: A fork server did not come up.
        """
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while not self._updates:
            if self._current is None:
                self._begin_slice()
                continue
            left_s = deadline - time.monotonic()
            if left_s < 0:
                return None
            self._follow(self._current, left_s)
        return self._updates.popleft()

    def take_notes(self) -> list[str]:
        """Return notes for the user on how trials run here; each is handed out once."""
        notes, self._notes = self._notes, []
        supervisors = (member.supervisor for member in self._members)
        return notes + [note for supervisor in supervisors for note in supervisor.take_notes()]

    def stop(self) -> None:
        """End the trials: they may leave their loops at their next reports, if these come soon."""
        for member in self._left:
            if member.supervisor.has_started:
                member.supervisor.stop()
        self.close()

    def close(self) -> None:
        """Kill what still runs and give the cores back. Safe to call more than once."""
        for member in self._members:
            member.supervisor.close()
        # A launch that still waits is in the queue: others wait for that.
        self._place.leave()
        if self._lease is not None:
            # Last: another trial must not get cores on which these processes still run.
            self._lease.release()

    def _begin_slice(self) -> None:
        """Start or resume the trial with the least progress; on a tie, the longest waiting."""
        assert self._lease is not None, "cores are acquired first"
        member = min(self._left, key=lambda member: (member.progress, member.last_slice))
        self._current = member
        self._num_slices += 1
        member.last_slice = self._num_slices
        if member.supervisor.has_started:
            member.supervisor.resume()
            return
        member.supervisor.start(self._lease)
        if not member.supervisor.announces_itself:
            self._updates.append((member.trial, Started()))

    def _follow(self, member: _Member, timeout_s: float) -> None:
        """Wait for the next update of the trial that has the time slice."""
        update = member.supervisor.next_update(timeout_s)
        if isinstance(update, SliceEnd):
            member.progress = update.progress
            self._current = None
        elif update is not None:
            self._updates.append((member.trial, update))
        if isinstance(update, TrialResult):
            self._current = None
            self._left.remove(member)
            if self._left:  # the next slice is to find its processes gone
                member.supervisor.close()
