"""Edge lists to compressed sparse columns."""

from __future__ import annotations

import numpy as np

from trainables.data.formats.arrays import Array

_SOURCE_BITS = 32
_SOURCE_MASK = (1 << _SOURCE_BITS) - 1


def pack(targets: Array, sources: Array) -> Array:
    """Edges as int64 that sort by target, then by source."""
    keys = targets.astype(np.int64)
    keys <<= _SOURCE_BITS
    keys |= sources
    return keys


def reversed_keys(keys: Array) -> Array:
    """The same edges in the other direction."""
    return ((keys & _SOURCE_MASK) << _SOURCE_BITS) | (keys >> _SOURCE_BITS)


def unpack(keys: Array, num_nodes: int) -> tuple[Array, Array]:
    """``indptr`` and ``indices`` of sorted packed edges. Overwrites ``keys``."""
    firsts = np.arange(num_nodes + 1, dtype=np.int64) << _SOURCE_BITS
    indptr = np.searchsorted(keys, firsts).astype(np.int64)
    keys &= _SOURCE_MASK
    return indptr, keys


def doubled(keys: Array) -> Array:
    """Packed edges and each once more in the other direction, sorted."""
    both = np.concatenate([keys, reversed_keys(keys)])
    both.sort()
    return both


def undirected(keys: Array) -> Array:
    """Packed edges of an undirected graph, sorted.

    Edges that are all there in both directions stay as they are. Otherwise each pair of nodes
    with an edge has one in either direction, once.
    """
    there, back = np.sort(keys), np.sort(reversed_keys(keys))
    if np.array_equal(there, back):
        return there
    both = np.concatenate([there, back])
    both.sort()
    # Not np.unique: it hashes, which takes several times longer than the sort.
    distinct: Array = both[np.append(True, both[1:] != both[:-1])]
    return distinct
