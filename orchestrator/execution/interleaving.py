"""What runs on one lease of cores: the trial of a launch, or several trials in turns.

Of several, one runs and the others are stopped, with their loader workers. Next comes whichever is
least far, so that all end at about the same time, however much faster one is: what a host does
meanwhile is in the times of all of them. Who is not to be alone has company in its turns.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.execution.background import Companion, Company, Heard
from orchestrator.execution.base import Launch, SliceEnd, Started
from orchestrator.execution.leases import CoreLeases, Lease, Place
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.trial import Isolation, Trial, TrialResult

LISTEN_S = 0.5
"""How often those that are not on turn are listened to."""


@dataclass(kw_only=True)
class _Member:
    """One of those that take turns.

    Attributes:
        trial: It.
        supervisor: Its own.
        isolation: How far it is to be kept from others.
        lease: Its part of the cores, from its first turn on.
        progress: How far it was when its last turn ended, as a fraction of its budget.
        last_turn: Number of that turn.
    """

    trial: Trial
    supervisor: Supervisor
    isolation: Isolation
    lease: Lease | None = None
    progress: float = 0.0
    last_turn: int = 0

    @property
    def has_company(self) -> bool:
        """Whether companions, if there are any, train in its turns."""
        return self.isolation is not Isolation.EXCLUSIVE


class Interleaving:
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
        runs = launch.each()
        companions = [each for each in runs if each.trial.companion and launch.others]
        self._members = [
            _Member(trial=each.trial, supervisor=supervisor_of(each), isolation=each.isolation)
            for each in runs
            if each not in companions
        ]
        self._company = Company(
            Companion(trial=each.trial, supervisor=supervisor_of(each)) for each in companions
        )
        self._left = list(self._members)
        self._on_turn: _Member | Companion | None = None
        self._num_turns = 0
        self._heard = deque[Heard]()
        self._place = Place()
        self._lease: Lease | None = None
        self._cores: tuple[int, ...] = ()
        self._notes: list[str] = []

    @property
    def has_cores(self) -> bool:
        """Whether its cores have been acquired."""
        return self._lease is not None

    @property
    def has_ended(self) -> bool:
        """Whether every trial has, and all was told of it."""
        return not self._left and not self._company.num_left and not self._heard

    def acquire_cores(self, timeout_s: float) -> bool:
        """Waits for the cores; returns whether it got them."""
        each = self._launch.num_cores
        count = each * (1 + self._company.num_left)
        self._lease = self._leases.acquire(
            count, self._launch.strictest, timeout_s=timeout_s, place=self._place
        )
        if self._lease is None:
            return False
        if self._lease.note:
            self._notes.append(f"{self._lease.note}; trials run with isolation shared")
        self._cores, *others = self._leases.divided(self._lease, each)
        self._company.sits_down([self._part(cores) for cores in others])
        return True

    def next_update(self, timeout_s: float | None = None) -> Heard | None:
        """Waits for what comes next of any trial; None if nothing came in time.

        Raises:
            ServerError: A fork server did not come up.
        """
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while not self._heard:
            if self._on_turn is None:
                self._begin_turn()
                continue
            left_s = deadline - time.monotonic()
            if left_s < 0:
                return None
            self._follow(self._on_turn, left_s)
        return self._heard.popleft()

    def take_notes(self) -> list[str]:
        """What the user should know of how trials run here; each is handed out once."""
        notes, self._notes = self._notes, []
        return notes + [note for one in self._everybody for note in one.supervisor.take_notes()]

    def stop(self) -> None:
        """Ends them: they may leave their loops at their next reports, if these come soon."""
        for member in self._left:
            if member.supervisor.has_started:
                member.supervisor.stop()
        self.close()

    def close(self) -> None:
        """Kills what still runs and gives the cores back. Safe to call more than once."""
        for one in self._everybody:
            one.supervisor.close()
        self._place.leave()
        if self._lease is not None:
            self._lease.release()

    @property
    def _everybody(self) -> list[_Member | Companion]:
        return [*self._members, *self._company.companions]

    # -- turns

    def _begin_turn(self) -> None:
        """Of a companion that sets up, else of the least far, the one that has waited longest."""
        if not any(member.has_company for member in self._left):
            self._heard += self._company.leaves()
        elif (newcomer := self._company.newcomer()) is not None:
            self._on_turn = newcomer
            self._go_on(newcomer, newcomer.lease)
            return
        member = min(self._left, key=lambda member: (member.progress, member.last_turn))
        self._on_turn = member
        self._num_turns += 1
        member.last_turn = self._num_turns
        if member.has_company:
            self._company.goes_on()
        self._go_on(member, self._lease_of(member))

    def _go_on(self, one: _Member | Companion, lease: Lease) -> None:
        if one.supervisor.has_started:
            one.supervisor.resume()
            return
        one.supervisor.start(lease)
        self._heard.append((one.trial, Started()))

    def _follow(self, one: _Member | Companion, timeout_s: float) -> None:
        """Waits for what comes next of who is on turn, and of who keeps it company."""
        timeout_s = min(timeout_s, LISTEN_S)
        if isinstance(one, Companion):
            self._heard += self._company.sets_up(one, timeout_s)
            self._on_turn = one if self._company.newcomer() is one else None
            return
        update = one.supervisor.next_update(timeout_s)
        if one.has_company:
            self._heard += self._company.says()
        if isinstance(update, SliceEnd):
            one.progress = update.progress
        elif update is not None:
            self._heard.append((one.trial, update))
        if isinstance(update, SliceEnd | TrialResult):
            self._end_turn(one, has_ended=isinstance(update, TrialResult))

    def _end_turn(self, member: _Member, *, has_ended: bool) -> None:
        self._on_turn = None
        if member.has_company:
            self._heard += self._company.waits()
        if not has_ended:
            return
        self._left.remove(member)
        if self._left:  # the next turn is to find it gone
            member.supervisor.close()
        else:
            self._heard += self._company.leaves()

    # -- cores

    def _lease_of(self, member: _Member) -> Lease:
        """The cores of a member, and who has others in the turn that begins."""
        member.lease = member.lease or self._part(self._cores, member.isolation)
        if self._granted is Isolation.EXCLUSIVE:  # else others than these may be there
            member.lease.num_others = self._company.num_cores if member.has_company else 0
        return member.lease

    def _part(self, cores: tuple[int, ...], isolation: Isolation = Isolation.LEASED) -> Lease:
        """Some of the cores; they stay those of the whole lease."""
        is_shared = self._granted is Isolation.SHARED
        return Lease(cores=cores, isolation=Isolation.SHARED if is_shared else isolation)

    @property
    def _granted(self) -> Isolation:
        assert self._lease is not None, "cores are acquired first"
        return self._lease.isolation
