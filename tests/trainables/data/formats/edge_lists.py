"""Lists of edges of several relations, drawn from a seed."""

from pathlib import Path

import numpy as np

from trainables.data.formats.arrays import Array
from trainables.data.formats.checks import items
from trainables.data.formats.relational_columns import EdgeList, End


def end(nodes: Array, offset: int, num_nodes: int) -> End:
    where = items(Path("edges.npy"), "edge")
    return End(nodes=nodes, offset=offset, num_nodes=num_nodes, where=where)


def drawn(seed: int) -> list[EdgeList]:
    """Three relations among 100 nodes of one type and 300 of another."""
    rng = np.random.default_rng(seed)
    ranges = {"a": (0, 100), "b": (100, 300)}
    lists = []
    for relation, (source, target) in enumerate([("a", "b"), ("b", "a"), ("b", "b")]):
        sources, targets = (
            end(rng.integers(0, ranges[kind][1], 5000), *ranges[kind]) for kind in (source, target)
        )
        lists.append(EdgeList(relation=relation, source=sources, target=targets))
    return lists


def naive(lists: list[EdgeList]) -> list[tuple[int, int, int]]:
    return sorted(
        {
            (int(target) + edges.target.offset, edges.relation, int(source) + edges.source.offset)
            for edges in lists
            for source, target in zip(edges.source.nodes, edges.target.nodes, strict=True)
        }
    )
