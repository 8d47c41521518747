"""Memory guard: ends a trial that takes too much memory before it takes others with it.

It counts memory without a file behind it: the trial's private pages, and those that
its loader workers share, each counted once. Pages of data sets that are mapped from disk do
not count, since the kernel drops them when it needs room.

The limit is the trial's share, by its cores, of 90 % of the memory of the node or of the
control group, whichever is less. A trial alone on its node has all of that. The kernel and
the control group are the second line: trials have the highest ``oom_score_adj``, so that
they are killed before the driver, Ray and the supervisors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from orchestrator.system.memory import node_bytes
from orchestrator.system.processes import TreeSample, unshared_bytes

USABLE_SHARE = 0.9
"""Share of the node's memory for trials; the rest is for the driver, Ray and the page cache."""

READ_AGAIN_S = 2.0
"""Period of reading the exact figure. A process that writes to a page which it has shared so far
gets a copy: that adds to the exact figure, and nothing to the sum."""
_EXACT_SHARE = 0.02
"""Largest share of the time that reading the exact figure may take: the kernel walks every page
table entry, which takes 66 ms for a process of 5 GB."""


@dataclass(frozen=True, kw_only=True)
class MemoryLimit:
    """Largest memory of a trial.

    Attributes:
        num_bytes: The limit.
        basis: Its origin, in words.
    """

    num_bytes: int
    basis: str


def limit_of_trial(
    asked_gib: float | None, *, num_cores: int, node_cores: int, isolated: bool
) -> MemoryLimit:
    """Return the limit of a trial on this node.

    Args:
        asked_gib: Limit that the sweep gives every trial, or None for the trial's share.
        num_cores: Cores of the trial.
        node_cores: Cores of the node that trials may have.
        isolated: True if the trial is alone on the node.
    """
    if asked_gib is not None:
        return MemoryLimit(num_bytes=int(asked_gib * 2**30), basis="what the sweep gives a trial")
    memory = node_bytes()
    part = 1.0 if isolated else min(num_cores / max(node_cores, 1), 1.0)
    owner = "the node" if part == 1.0 else f"its share: {num_cores} of {node_cores} cores"
    basis = f"{USABLE_SHARE:.0%} of {memory / 2**30:.1f} GiB, {owner}"
    return MemoryLimit(num_bytes=int(part * USABLE_SHARE * memory), basis=basis)


class MemoryGuard:
    """Compares the memory of one trial with its limit."""

    def __init__(
        self,
        limit: MemoryLimit,
        exact: Callable[[Iterable[int]], int | None] = unshared_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Guard a trial.

        Args:
            limit: Limit of the trial.
            exact: Reads the memory of processes, each shared page counted once.
            clock: Seconds from any origin.
        """
        self.limit = limit
        self._exact, self._clock = exact, clock
        self._read_at_s = float("-inf")

    def exceeded(self, sample: TreeSample) -> int | None:
        """Return the trial's memory in bytes if that is above the limit, else None.

        The sum over processes is cheap and never too low, as it counts a shared page several
        times. The exact figure is read only above the limit, and read again at times.
        """
        if sample.anonymous_bytes <= self.limit.num_bytes:
            return None
        began = self._clock()
        if began < self._read_at_s:
            return None
        exact = self._exact(sample.pids)
        ended = self._clock()
        self._read_at_s = ended + max(READ_AGAIN_S, (ended - began) / _EXACT_SHARE)
        # The processes have ended meanwhile, or may not be read: the kernel's limits remain.
        return exact if exact is not None and exact > self.limit.num_bytes else None
