"""The trials of one lease of cores: a single trial, or several interleaved ones.

If there are several, one trains and the others are stopped, with their loader workers. The next
time slice goes to the trial with the least progress. So all end at about the same time, however
much faster one is, and changes of the host's speed affect the times of all of them.
"""

import math
import time
from dataclasses import replace

from orchestrator.execution.in_flight import Message
from orchestrator.execution.leases import Lease, Place
from orchestrator.execution.supervision.attempt import Host
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.kernel.executor import Launch, SliceEnd, TrialUpdate, Update
from orchestrator.trial import Isolation, TrialResult

LEASE_S = 2.0
"""Wait for leased cores after which it is reported."""
POLL_S = 0.25
"""Longest wait for a message before the processes themselves are looked at."""


class Interleaving:
    """Runs the trials of a launch, each with its supervisor."""

    def __init__(self, launch: Launch, host: Host) -> None:
        """Prepare to run the trials of ``launch``; nothing is started yet."""
        self._launch, self._host = launch, host
        self._supervisors = [Supervisor(each, host) for each in launch.each()]
        self._left = list(self._supervisors)  # the longest waiting first
        self._current: Supervisor | None = None
        self._sliced = set[Supervisor]()  # those that waited while another one trained
        self._place = Place()
        self._lease: Lease | None = None
        self._sent_at = time.monotonic()

    @property
    def has_ended(self) -> bool:
        """Return True once every trial has ended."""
        return not self._left

    def next_message(self, timeout_s: float | None = None, *, gather_s: float = 0.0) -> Message:
        """Wait for news: of the cores, then of the trials.

        Args:
            timeout_s: Longest wait. Default: until there are updates, or for :data:`LEASE_S`.
            gather_s: Time after a message in which reports are gathered; a start or an end is
                returned at once.

        Raises:
            ServerError: A fork server did not come up.
        """
        launch, host = self._launch, self._host
        if self._lease is None:
            is_leased = self._acquire_cores(LEASE_S if timeout_s is None else timeout_s)
            if too_late := launch.not_run():
                return Message(result=too_late)
            if not is_leased:
                return Message(waiting=host.leases.what_for(launch.num_cores))
        updates = list[TrialUpdate]()
        until = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while self._left:
            self._current = self._current or self._begin_slice()
            new = self._follow(self._current, min(max(until - time.monotonic(), 0.0), POLL_S))
            updates += new
            until = self._sent_at + gather_s if updates else until
            are_reports = all(isinstance(update, Update) for _, update in new)
            if not are_reports or time.monotonic() >= until:
                break
        self._sent_at = time.monotonic()
        notes, host.notes = tuple(host.notes), []
        return Message(updates=tuple(updates), notes=notes)

    def _acquire_cores(self, timeout_s: float) -> bool:
        """Wait for the cores; return True if they came free in time.

        A trial that is watched does without cores of its own otherwise.
        """
        num_cores, leases = self._launch.num_cores, self._host.leases
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
            self._host.notes.append(f"{self._lease.note}; trials run with isolation shared")
        return True

    def stop(self) -> None:
        """End the trials: they may leave their loops at their next reports, if these come soon."""
        for supervisor in self._left:
            if supervisor.has_started:
                supervisor.stop()
        self.close()

    def close(self) -> None:
        """Kill what still runs and give the cores back. Safe to call more than once."""
        for supervisor in self._supervisors:
            supervisor.close()
        # A launch that still waits is in the queue: others wait for that.
        self._place.leave()
        if self._lease is not None:
            # Another trial must not get cores on which these processes still run.
            self._lease.release()
        self._host.close()

    def _begin_slice(self) -> Supervisor:
        """Start or continue the trial with the least progress; on a tie, the longest waiting."""
        assert self._lease is not None, "cores are acquired first"
        chosen = min(self._left, key=lambda each: each.progress)
        self._left.remove(chosen)
        self._left.append(chosen)
        if chosen.has_started:
            chosen.begin_slice()
        else:
            chosen.start(self._lease)
        return chosen

    def _follow(self, supervisor: Supervisor, timeout_s: float) -> list[TrialUpdate]:
        """Wait for updates of the trial that has the time slice."""
        updates = list[TrialUpdate]()
        for update in supervisor.next_events(timeout_s):
            if isinstance(update, SliceEnd):
                supervisor.progress = update.progress
                self._sliced.add(supervisor)
                self._current = None
                continue
            if isinstance(update, TrialResult) and supervisor in self._sliced:
                update = replace(update, tags={**update.tags, "interleaved": "true"})
            updates.append((supervisor.trial, update))
            if isinstance(update, TrialResult):
                self._current = None
                self._left.remove(supervisor)
                if self._left:  # the next slice is to find its processes gone
                    supervisor.close()
        return updates
