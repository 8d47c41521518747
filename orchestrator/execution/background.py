"""Company: trials that train on cores of their own in the turns of others, for their sake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.execution.base import SliceEnd, Started, Update
from orchestrator.execution.leases import Lease
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.trial import Isolation, Trial, TrialResult, TrialState

NOT_MEASURED: Final = "kept others company in their turns, and is not measured"
"""Why the row of a companion has no figures: it was stopped amid steps."""

Heard = tuple[Trial, Started | Update | TrialResult]
"""What has become of a trial."""


def _never_there() -> TrialResult:
    return TrialResult(state=TrialState.STOPPED, reason="found no cores to keep others company on")


@dataclass(kw_only=True)
class Companion:
    """One of them. It is stopped and let go on from outside, wherever it is in a step.

    Attributes:
        trial: It.
        supervisor: Its own.
        lease: Its cores.
        so_far: Its row if it ended now.
        is_there: Whether it has set up, and trains.
    """

    trial: Trial
    supervisor: Supervisor
    lease: Lease = field(default_factory=lambda: Lease(cores=(), isolation=Isolation.LEASED))
    so_far: TrialResult = field(default_factory=_never_there)
    is_there: bool = False


class Company:
    """The companions of those that take turns on one lease."""

    def __init__(self, companions: Iterable[Companion]) -> None:
        self.companions = tuple(companions)
        self._left = list(self.companions)
        self._seated: list[Companion] = []

    @property
    def num_left(self) -> int:
        """Companions that have not ended."""
        return len(self._left)

    @property
    def num_cores(self) -> int:
        """Cores that they have."""
        return sum(len(companion.lease.cores) for companion in self._seated)

    def sits_down(self, leases: Sequence[Lease]) -> None:
        """Each has its cores; who finds none, on a node with fewer than asked for, never trains."""
        for companion, lease in zip(self._left, leases, strict=False):
            companion.lease = lease
            self._seated.append(companion)

    def newcomer(self) -> Companion | None:
        """One that has still to set up: nobody is beside it, nor measured, meanwhile."""
        return next((one for one in self._seated if not one.is_there), None)

    def sets_up(self, newcomer: Companion, timeout_s: float) -> list[Heard]:
        """Waits for what it says next. With its first report it has set up, and is stopped."""
        update = newcomer.supervisor.next_update(timeout_s)
        heard = self._taken(newcomer, update)
        if isinstance(update, Update):
            newcomer.is_there = True
            heard += self._taken(newcomer, newcomer.supervisor.pause())
        return heard

    def goes_on(self) -> None:
        """A turn begins in which they are there."""
        for companion in self._seated:
            companion.supervisor.resume()

    def says(self) -> list[Heard]:
        """What they have said meanwhile."""
        heard: list[Heard] = []
        for companion in list(self._seated):
            while companion in self._seated:
                news = self._taken(companion, companion.supervisor.next_update(0))
                if not news:
                    break
                heard += news
        return heard

    def waits(self) -> list[Heard]:
        """The turn is over; what they have said in it."""
        heard = self.says()
        for companion in list(self._seated):
            heard += self._taken(companion, companion.supervisor.pause())
        return heard

    def leaves(self) -> list[Heard]:
        """Nobody needs them any more; what became of them."""
        heard: list[Heard] = []
        for companion in list(self._left):
            heard += self._taken(companion, companion.so_far)
        return heard

    def _taken(
        self, companion: Companion, update: Started | Update | SliceEnd | TrialResult | None
    ) -> list[Heard]:
        if update is None or isinstance(update, SliceEnd):
            return []
        if isinstance(update, Update):
            companion.so_far = replace(update.so_far, reason=NOT_MEASURED, metrics={})
            return []
        if isinstance(update, TrialResult):
            companion.supervisor.close()
            self._left.remove(companion)
            self._seated = [one for one in self._seated if one is not companion]
        return [(companion.trial, update)]
