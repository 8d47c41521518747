"""Graphs of tests, as compressed sparse columns."""

from trainables.data.formats.arrays import Array
from trainables.data.formats.csc import pack, unpack


def compressed(sources: Array, targets: Array, num_nodes: int) -> tuple[Array, Array]:
    """``indptr`` and ``indices`` of edges as given; sources of the edges into a node ascend."""
    keys = pack(targets, sources)
    keys.sort()
    return unpack(keys, num_nodes)
