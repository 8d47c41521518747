"""Edges held out of a graph, to be predicted from the rest; made once and cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array, map_array
from trainables.data.formats.conversion import Conversion, cache_of
from trainables.data.formats.csc import pack, reversed_keys, unpack
from trainables.data.formats.graph_store import GraphStore
from trainables.graph.components import GraphScope, in_largest_component
from trainables.graph.drawing import Ids

KIND = "link-split"
VAL_SHARE, TEST_SHARE = 0.05, 0.10
"""Shares of the edges, as GATNE holds out."""
MOST_HELD_OUT = 100_000
"""Most held-out edges of each kind: the AUC's standard error is then below 0.001."""
FEWEST_EDGES = 20

_VERSION = 1
_SEED = 0
"""The split belongs to the data: trials with other seeds are compared on the same edges."""
_MOST_ROUNDS = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """Pairs of nodes to classify, as many with an edge as without.

    Attributes:
        edges: ``(n, 2)`` int64.
        non_edges: ``(n, 2)`` int64, drawn uniformly from all pairs without an edge.
    """

    edges: Array
    non_edges: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkSplit:
    """A graph without its held-out edges. Nodes have positions 0, 1, ... within the scope.

    Attributes:
        nodes: Ids in the data set by position, ``(num_nodes,)``, ascending.
        indptr: Neighbours of ``v`` are ``indices[indptr[v]:indptr[v + 1]]``, int64.
        indices: Positions of nodes, int64; each edge is there both ways.
        val: To choose settings by.
        test: To report on, once.
    """

    nodes: Array
    indptr: Ids
    indices: Ids
    val: HeldOut
    test: HeldOut

    @property
    def num_nodes(self) -> int:
        """Number of nodes in the scope."""
        return len(self.nodes)

    @classmethod
    def of(cls, folder: Path, scope: GraphScope, *, hold_out: bool = True) -> LinkSplit:
        """The split of a graph store, found in its cache or put there.

        Args:
            folder: Folder of the :class:`GraphStore`.
            scope: All nodes, or those of the largest component.
            hold_out: False: the graph keeps the validation edges, and there is no validation.

        Raises:
            DataError: The graph has too few edges, or too few pairs without one.
        """
        kept = scope if hold_out else f"{scope}-with-val"
        conversion = Conversion(
            name=f"{folder.parent.name}/{kept}",
            kind=KIND,
            source=str(folder),
            key=f"{folder.parent.name}-{KIND}-{kept}-v{_VERSION}",
            signature=folder.name,
        )
        prepared = conversion.prepare(
            cache_of(folder),
            lambda target: _write(GraphStore.open(folder), scope, target, hold_out),
        )
        return cls.open(prepared.path)

    @classmethod
    def open(cls, folder: Path) -> LinkSplit:
        """Open a split without reading it."""

        def mapped(name: str) -> Array:
            return map_array(folder / f"{name}.npy")

        def held_out(kind: str) -> HeldOut:
            return HeldOut(edges=mapped(f"{kind}_edges"), non_edges=mapped(f"{kind}_non_edges"))

        return cls(
            nodes=mapped("nodes"),
            indptr=mapped("indptr"),
            indices=mapped("indices"),
            val=held_out("val"),
            test=held_out("test"),
        )


def _write(store: GraphStore, scope: GraphScope, folder: Path, hold_out: bool) -> Mapping[str, int]:
    nodes, edges = _edges_within(store, scope)
    place = f"{store.name} with graph_scope={scope}"
    if len(edges) < FEWEST_EDGES:
        raise DataError(
            f"{place} has {len(edges)} edges between {len(nodes)} nodes: too few to hold some out",
            f"link prediction needs at least {FEWEST_EDGES}",
        )
    rng = np.random.default_rng(_SEED)
    counts = [
        min(max(1, round(share * len(edges))), MOST_HELD_OUT) for share in (VAL_SHARE, TEST_SHARE)
    ]
    order = rng.choice(len(edges), sum(counts), replace=False)
    held_out = edges[order]
    non_edges = _non_edges(edges, len(nodes), sum(counts), rng)
    if len(non_edges) < sum(counts):
        raise DataError(
            f"{place} has {len(non_edges)} pairs of nodes without an edge",
            f"link prediction needs as many as held-out edges, {sum(counts)}",
        )
    first = 0 if hold_out else counts[0]  # the test edges are the same ones in both cases
    rest = np.delete(edges, order[first:])
    keys = np.concatenate([rest, reversed_keys(rest)])
    keys.sort()
    indptr, indices = unpack(keys, len(nodes))
    arrays = {"nodes": nodes, "indptr": indptr, "indices": indices}
    parts = {"val": slice(first, counts[0]), "test": slice(counts[0], sum(counts))}
    for name, part in parts.items():
        arrays[f"{name}_edges"] = _ends(held_out[part])
        arrays[f"{name}_non_edges"] = _ends(non_edges[part])
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    val = len(arrays["val_edges"])
    return {"nodes": len(nodes), "edges": len(indices), "val": val, "test": counts[1]}


def _edges_within(store: GraphStore, scope: GraphScope) -> tuple[Array, Array]:
    """Ids of the nodes in the scope, and its edges once each, packed and ascending."""
    nodes = np.arange(store.num_nodes)
    if scope == "largest_component":
        nodes = np.flatnonzero(in_largest_component(store.indptr, store.indices))
    position = np.full(store.num_nodes, -1, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    targets = np.repeat(np.arange(store.num_nodes), np.diff(store.indptr))
    # Once each, and no loops. No edge leads out of a component.
    once = (targets < store.indices) & (position[targets] >= 0)
    return nodes, np.unique(pack(position[targets[once]], position[store.indices[once]]))


def _non_edges(edges: Array, num_nodes: int, count: int, rng: np.random.Generator) -> Array:
    """``count`` distinct packed pairs that are not among ``edges``; fewer if hardly any are."""
    found = np.empty(0, dtype=np.int64)
    for _ in range(_MOST_ROUNDS):
        ends = rng.integers(num_nodes, size=(2 * count, 2))
        ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
        keys = pack(ends[:, 0], ends[:, 1])
        place = np.searchsorted(edges, keys).clip(max=len(edges) - 1)
        found = np.union1d(found, keys[edges[place] != keys])
        if len(found) >= count:
            break
    # Ascending so far: any part of them would favour some nodes.
    return rng.permutation(found)[:count]


def _ends(keys: Array) -> Array:
    """Packed edges as ``(n, 2)``."""
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)
