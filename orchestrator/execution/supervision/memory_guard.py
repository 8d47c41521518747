"""A limit on a trial's memory, so that one that takes too much takes no other with it.

What counts is the memory that no file stands behind: the trial's private pages, and those
that its loader workers share, each counted once. Pages of data sets that are mapped from
disk do not count, since the kernel takes them back when it needs room.

The limit is the trial's share, by its cores, of 90 % of the memory of the node or of the
control group, whichever is less; a trial alone on its node has all of that. Behind it stand
the kernel and the control group: trials have the highest ``oom_score_adj``, so that they
go before the driver, Ray and the supervisors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from orchestrator.system.memory import node_bytes
from orchestrator.system.processes import TreeSample, unshared_bytes

USABLE_SHARE = 0.9
"""Of the node's memory; the rest is the driver's, Ray's and the page cache's."""

LOOK_AGAIN_S = 2.0
"""So often the exact figure is read again: a process that writes on pages which it shared so
far adds to it, and nothing to the sum."""
_EXACT_SHARE = 0.02
"""Most of the time that reading the exact figure may take."""


@dataclass(frozen=True, kw_only=True)
class MemoryLimit:
    """How much a trial may have.

    Attributes:
        num_bytes: That much.
        basis: Why, in words.
    """

    num_bytes: int
    basis: str


def limit_of_trial(
    asked_gib: float | None, *, num_cores: int, node_cores: int, isolated: bool
) -> MemoryLimit | None:
    """The limit of a trial here; None where the node's memory is not known.

    Args:
        asked_gib: What the sweep gives every trial, or None for its share.
        num_cores: Cores of the trial.
        node_cores: Cores of the node that trials may have.
        isolated: Whether the trial has the node to itself.
    """
    if asked_gib is not None:
        return MemoryLimit(num_bytes=int(asked_gib * 2**30), basis="what the sweep gives a trial")
    memory = node_bytes()
    if memory is None:
        return None
    part = 1.0 if isolated else min(num_cores / max(node_cores, 1), 1.0)
    whose = "the node" if part == 1.0 else f"its share: {num_cores} of {node_cores} cores"
    basis = f"{USABLE_SHARE:.0%} of {memory / 2**30:.1f} GiB, {whose}"
    return MemoryLimit(num_bytes=int(part * USABLE_SHARE * memory), basis=basis)


class MemoryGuard:
    """Watches one trial's memory against its limit."""

    def __init__(
        self,
        limit: MemoryLimit | None,
        exact: Callable[[Iterable[int]], int | None] = unshared_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watches nothing where there is no limit."""
        self.limit = limit
        self._exact, self._clock = exact, clock
        self._look_at_s = float("-inf")
        self._look_from = 0 if limit is None else limit.num_bytes

    def exceeded(self, sample: TreeSample) -> int | None:
        """The trial's memory in bytes where that is above the limit, else None.

        A sum over processes counts a shared page several times, and is never too low. Only
        where it is above the limit is the exact figure read, which takes longer, and then
        again once half of what was left of the limit has been added, or some time has gone.
        """
        if self.limit is None or sample.anonymous_bytes <= self.limit.num_bytes:
            return None
        began = self._clock()
        if sample.anonymous_bytes <= self._look_from and began < self._look_at_s:
            return None
        exact = self._exact(sample.pids)
        ended = self._clock()
        self._look_at_s = ended + max(LOOK_AGAIN_S, (ended - began) / _EXACT_SHARE)
        if exact is None:
            return None
        if exact > self.limit.num_bytes:
            return exact
        self._look_from = sample.anonymous_bytes + (self.limit.num_bytes - exact) // 2
        return None
