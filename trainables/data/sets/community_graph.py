"""Random graphs with power-law degrees and nested communities.

Every node has a number of edge ends, drawn from a power law. A share of them is joined with
ends of the same community, a share within the same class, the rest with any. It is the
degree-corrected block model of Karrer and Newman (2011), drawn as a configuration model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trainables.data.formats.arrays import Array
from trainables.data.formats.csc import pack, reversed_keys, unpack

_COMMUNITY_SIZE = 400
"""Mean number of nodes."""
_COMMUNITY_SHARE, _CLASS_SHARE = 0.5, 0.25
"""Shares of a node's edges; the rest leads anywhere."""
_DEGREE_TAIL = 1.8
"""Exponent of the degrees' survival function (Lomax): many nodes with few edges."""
_MAX_DEGREE, _MAX_DEGREE_SHARE, _MAX_DEGREE_RATIO = 17_000, 0.05, 10
"""No node has more edges than that, as in ogbn-products, nor than this share of the nodes,
or this multiple of the mean where that is more."""
_MAX_DENSITY = 0.3
"""Share of a group's nodes that one node may be joined with, before doubles become too many."""
_SURPLUS = 1.1
"""Edge ends drawn for one kept: loops and doubles are dropped."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Communities:
    """Nodes in order of their community, communities in order of their class.

    Attributes:
        num_classes: Number of classes.
        class_of: Class of each node, ascending.
        community_of: Community of each node, ascending.
    """

    num_classes: int
    class_of: Array
    community_of: Array

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.class_of)

    @property
    def num_communities(self) -> int:
        """Number of communities."""
        return int(self.community_of[-1]) + 1


def draw_communities(num_nodes: int, num_classes: int, rng: np.random.Generator) -> Communities:
    """Classes of sizes that fall as 1, 1/2, 1/3, ..., each of communities of unequal size."""
    shares = 1 / np.arange(1, num_classes + 1)
    class_sizes = rng.multinomial(num_nodes, shares / shares.sum())
    sizes = []
    for size in class_sizes:
        number = max(1, size // _COMMUNITY_SIZE)
        sizes.append(rng.multinomial(size, rng.dirichlet(np.full(number, 3.0))))
    community_sizes = np.concatenate(sizes)
    return Communities(
        num_classes=num_classes,
        class_of=np.repeat(np.arange(num_classes, dtype=np.int16), class_sizes),
        community_of=np.repeat(np.arange(len(community_sizes), dtype=np.int32), community_sizes),
    )


def draw_edges(
    communities: Communities, num_edges: int, names: Array, rng: np.random.Generator
) -> Array:
    """Distinct undirected edges without loops.

    Args:
        communities: The nodes.
        num_edges: How many.
        names: Id of each node in the result: a permutation, int32.
        rng: The random generator.

    Returns:
        Packed edges (see :mod:`trainables.data.formats.csc`), the smaller node first, ascending.
    """
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < num_edges:
        wanted = int((num_edges - len(keys)) * _SURPLUS) + communities.num_nodes // 100
        keys = np.concatenate([keys, *_draw_some(communities, wanted, names, rng)])
        keys.sort()
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    kept = np.ones(len(keys), dtype=bool)
    kept[rng.choice(len(keys), len(keys) - num_edges, replace=False, shuffle=False)] = False
    return keys[kept]


def both_directions(keys: Array, num_nodes: int) -> tuple[Array, Array]:
    """``indptr`` and ``indices`` (int64) of a graph with each edge in both directions."""
    every = np.concatenate([keys, reversed_keys(keys)])
    every.sort()
    return unpack(every, num_nodes)


def _draw_some(
    communities: Communities, num_edges: int, names: Array, rng: np.random.Generator
) -> Iterator[Array]:
    ends = _draw_degrees(communities.num_nodes, num_edges, rng)
    within_community = _share(ends, _COMMUNITY_SHARE, communities.community_of, rng)
    within_class = _share(ends, _CLASS_SHARE / (1 - _COMMUNITY_SHARE), communities.class_of, rng)
    anywhere = np.zeros(communities.num_nodes, dtype=np.int8)
    yield _join(within_community, communities.community_of, names, rng)
    yield _join(within_class, communities.class_of, names, rng)
    yield _join(ends, anywhere, names, rng)


def _draw_degrees(num_nodes: int, num_edges: int, rng: np.random.Generator) -> Array:
    weights = rng.pareto(_DEGREE_TAIL, num_nodes)
    degrees = weights * (2 * num_edges / weights.sum())
    most = max(num_nodes * _MAX_DEGREE_SHARE, degrees.mean() * _MAX_DEGREE_RATIO)
    most = min(most, _MAX_DEGREE)
    degrees = np.minimum(degrees, most)
    degrees *= 2 * num_edges / degrees.sum()
    return np.maximum(1, _rounded(np.minimum(degrees, most), rng))


def _share(ends: Array, share: float, group_of: Array, rng: np.random.Generator) -> Array:
    """Take a share of each node's ends out of ``ends``; less where its group is small."""
    most = np.bincount(group_of)[group_of] * _MAX_DENSITY
    taken = np.minimum(_rounded(ends * share, rng), most.astype(np.int64))
    ends -= taken
    return taken


def _rounded(values: Array, rng: np.random.Generator) -> Array:
    return (values + rng.random(len(values))).astype(np.int64)


def _join(ends: Array, group_of: Array, names: Array, rng: np.random.Generator) -> Array:
    """Join the ends within each group at random."""
    stubs = np.repeat(names, ends)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(group_of, weights=ends))]).astype(np.int64)
    firsts, seconds = [], []
    for start, stop in pairwise(bounds):
        group = stubs[start:stop]
        rng.shuffle(group)
        half = len(group) // 2
        firsts.append(group[:half])
        seconds.append(group[half : 2 * half])
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    different = first != second
    first, second = first[different], second[different]
    return pack(np.minimum(first, second), np.maximum(first, second))
