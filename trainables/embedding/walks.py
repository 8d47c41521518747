"""Random walks over a graph: drawn once by several processes, and cached.

Each step depends on the seed, the walk and its start alone, so that the walks are the same
however many processes draw them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trainables.data.formats.arrays import map_array
from trainables.data.formats.conversion import Conversion, cache_of
from trainables.embedding.link_split import LinkSplit
from trainables.embedding.processes import shared_out
from trainables.graph.components import GraphScope
from trainables.graph.drawing import Ids
from trainables.graph.randomness import below, key_of, random_bits

KIND = "walks"

Walks = NDArray[np.int32]
"""Positions of nodes, ``(num_walks, length)``."""

_VERSION = 1
STARTS_A_TASK = 1 << 16
"""Walks that one task of a process begins."""
_FILE = "walks.npy"


@dataclass(frozen=True, kw_only=True)
class WalkPlan:
    """Plan of the walks to draw.

    Attributes:
        length: Nodes of a walk.
        per_node: Walks that start from each node that has an edge.
        seed: Seed of the trial.
    """

    length: int
    per_node: int
    seed: int


def cached_walks(
    folder: Path, scope: GraphScope, split: LinkSplit, plan: WalkPlan, num_processes: int
) -> Walks:
    """The walks over a split's graph, found in the cache or put there.

    Args:
        folder: Folder of the graph store that was split.
        scope: Nodes of the split: all, or the largest component.
        split: The graph without the held-out edges.
        plan: Which walks.
        num_processes: Most processes that draw them, see :func:`processes.shared_out`.
    """
    kept = "" if len(split.val.edges) else "-with-val"  # walks over another graph
    name = f"{folder.parent.name}-{KIND}-{scope}{kept}"
    conversion = Conversion(
        name=name,
        kind=KIND,
        source=str(folder),
        key=f"{name}-{plan.length}x{plan.per_node}-seed-{plan.seed}-v{_VERSION}",
        signature=folder.name,
    )

    def build(target: Path) -> dict[str, int]:
        return draw_walks(target / _FILE, split, plan, num_processes)

    return map_array(conversion.prepare(cache_of(folder), build).path / _FILE)


def draw_walks(file: Path, split: LinkSplit, plan: WalkPlan, num_processes: int) -> dict[str, int]:
    """Draw walks into one file that every process writes its part of.

    Returns:
        How many there are, and how many processes drew them.
    """
    starts = np.flatnonzero(np.diff(split.indptr))
    shape = (plan.per_node * len(starts), plan.length)
    np.lib.format.open_memmap(file, mode="w+", dtype=np.int32, shape=shape).flush()
    tasks = list(_tasks(plan.per_node, len(starts)))
    work = partial(_write_part, file, split, starts, plan)
    return {"walks": shape[0], "processes": shared_out(work, tasks, num_processes)}


class _Task(NamedTuple):
    """The walks with one number from some of the starts."""

    number: int
    begin: int
    end: int


def _tasks(per_node: int, num_starts: int) -> Iterator[_Task]:
    for number in range(per_node):
        for begin in range(0, num_starts, STARTS_A_TASK):
            yield _Task(number, begin, min(begin + STARTS_A_TASK, num_starts))


def _write_part(file: Path, split: LinkSplit, starts: Ids, plan: WalkPlan, task: _Task) -> None:
    part = walks_from(starts[task.begin : task.end], split, plan, task.number)
    walks = np.lib.format.open_memmap(file, mode="r+")
    first = task.number * len(starts)
    walks[first + task.begin : first + task.end] = part
    walks.flush()


def walks_from(starts: Ids, split: LinkSplit, plan: WalkPlan, number: int) -> Walks:
    """The walks with one number from ``starts``, all of which have an edge.

    Every step goes to any neighbour, one as likely as the other.
    """
    walks = np.empty((len(starts), plan.length), dtype=np.int32)
    nodes = starts
    for step in range(plan.length):
        walks[:, step] = nodes
        begin = split.indptr[nodes]
        degree = split.indptr[nodes + 1] - begin
        bits = random_bits(starts, 1, key_of(plan.seed, number, step))[:, 0]
        nodes = split.indices[begin + below(bits, degree.astype(np.uint64)).view(np.int64)]
    return walks
