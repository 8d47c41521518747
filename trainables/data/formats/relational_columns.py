"""Edge lists of several relations to compressed sparse columns, in bounded memory.

An edge is one integer, ``(target, relation, source)`` from its high to its low bits, so that
sorting integers sorts edges. If they do not fit in memory at once, they are first distributed
to files by ranges of targets, and each file is then sorted separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.array_writer import ArrayWriter
from trainables.data.formats.arrays import Array, map_array, release
from trainables.data.formats.checks import Where, check_range

_CHUNK_EDGES = 1 << 22
_BUCKET_EDGES = 1 << 26
"""Sorted at once: 512 MiB."""
_NUM_BINS = 1 << 16
_EDGE_BITS = 62
"""The bits of an int64 without its sign, with one to spare."""


@dataclass(frozen=True, kw_only=True, eq=False)
class End:
    """One end of a list of edges.

    Attributes:
        nodes: Numbers within the node type, ``(num_edges,)``; may be mapped.
        offset: Number of the type's first node among all nodes.
        num_nodes: Nodes of the type.
        where: Place of an edge in the file it comes from.
    """

    nodes: Array
    offset: int
    num_nodes: int
    where: Where


@dataclass(frozen=True, kw_only=True, eq=False)
class EdgeList:
    """Edges of one relation."""

    relation: int
    source: End
    target: End

    def __len__(self) -> int:
        return len(self.source.nodes)


@dataclass(frozen=True, kw_only=True)
class KeyBits:
    """Positions of an edge's parts in its integer."""

    source: int
    relation: int

    @classmethod
    def of(cls, num_nodes: int, num_relations: int) -> KeyBits:
        """Bits of all sources and relations; the rest is for targets."""
        bits = cls(source=num_nodes.bit_length(), relation=num_relations.bit_length())
        assert 2 * bits.source + bits.relation <= _EDGE_BITS, "an edge fits into an integer"
        return bits

    def pack(self, edges: EdgeList, start: int, stop: int) -> Array:
        """Checked edges ``start .. stop - 1`` as integers.

        Raises:
            DataError: An edge names a node that does not exist.
        """
        target, source = (_nodes(end, start, stop) for end in (edges.target, edges.source))
        keys = target << self.relation
        keys |= edges.relation
        keys <<= self.source
        keys |= source
        return keys

    def targets(self, keys: Array) -> Array:
        """Targets of packed edges."""
        return keys >> (self.source + self.relation)

    def first_key(self, targets: Array) -> Array:
        """The smallest integer that an edge into a target can have."""
        return targets << (self.source + self.relation)

    def relations(self, keys: Array) -> Array:
        """Relations of packed edges."""
        return (keys >> self.source) & ((1 << self.relation) - 1)

    def sources(self, keys: Array) -> Array:
        """Sources of packed edges."""
        return keys & ((1 << self.source) - 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Arrays that :func:`write_columns` wrote, mapped."""

    indptr: Array
    indices: Array
    edge_type: Array

    @classmethod
    def open(cls, folder: Path) -> Columns:
        """Open the three files."""
        return cls(
            indptr=map_array(folder / "indptr.npy"),
            indices=map_array(folder / "indices.npy"),
            edge_type=map_array(folder / "edge_type.npy"),
        )


def check_num_nodes(num_nodes: int, num_relations: int, counted: Path) -> None:
    """Check that :func:`write_columns` can take so many nodes.

    Args:
        num_nodes: Nodes of all types.
        num_relations: Relations, inverses among them.
        counted: The file that gives the number of nodes.

    Raises:
        DataError: They are too many.
    """
    most = (1 << (_EDGE_BITS - num_relations.bit_length()) // 2) - 1
    if num_nodes > most:
        raise DataError(
            f"{counted} gives {num_nodes:,} nodes",
            f"allowed: at most {most:,} with {num_relations} relations",
        )


def write_columns(
    folder: Path,
    lists: Sequence[EdgeList],
    num_nodes: int,
    *,
    bucket_edges: int = _BUCKET_EDGES,
) -> int:
    """Write ``indptr.npy``, ``indices.npy`` (int64) and ``edge_type.npy``.

    Within a node, edges are ordered by relation, then by source. An edge given twice is
    stored once.

    Args:
        folder: The folder to write to, with room for the edges twice.
        lists: The edges; several lists may be of one relation.
        num_nodes: Nodes of all types.
        bucket_edges: Approximate number of edges in memory.

    Returns:
        Number of edges.

    Raises:
        DataError: An edge names a node that does not exist.
    """
    num_relations = 1 + max(edges.relation for edges in lists)
    bits = KeyBits.of(num_nodes, num_relations)
    bounds = _bounds(lists, num_nodes, bucket_edges)
    small = np.uint8 if num_relations <= 256 else np.int16
    with (
        TemporaryDirectory(dir=folder) as scratch,
        ArrayWriter(folder / "indptr.npy", np.int64) as indptr,
        ArrayWriter(folder / "indices.npy", np.int64) as indices,
        ArrayWriter(folder / "edge_type.npy", small) as edge_type,
    ):
        indptr.append(np.zeros(1, dtype=np.int64))
        for bucket, keys in enumerate(_buckets(lists, bits, bounds, Path(scratch))):
            keys.sort()
            keys = _distinct(keys)
            targets = np.arange(bounds[bucket] + 1, bounds[bucket + 1] + 1)
            indptr.append(indices.num_rows + np.searchsorted(keys, bits.first_key(targets)))
            for start, stop in _chunks(len(keys)):
                indices.append(bits.sources(keys[start:stop]))
                edge_type.append(bits.relations(keys[start:stop]))
        return indices.num_rows


def _nodes(end: End, start: int, stop: int) -> Array:
    nodes = end.nodes[start:stop].astype(np.int64)
    release(end.nodes)
    check_range(nodes, end.num_nodes, end.where, "node", first=start)
    nodes += end.offset
    return nodes


def _bounds(lists: Sequence[EdgeList], num_nodes: int, bucket_edges: int) -> list[int]:
    """Ranges of targets with about ``bucket_edges`` edges each."""
    if sum(map(len, lists)) <= bucket_edges:
        return [0, num_nodes]
    width = -(-num_nodes // _NUM_BINS)
    edges_of_bin = np.zeros(_NUM_BINS, dtype=np.int64)
    for edges in lists:
        for start, stop in _chunks(len(edges)):
            bins = _nodes(edges.target, start, stop) // width
            edges_of_bin += np.bincount(bins, minlength=_NUM_BINS)
    before = np.cumsum(edges_of_bin)
    cuts = np.searchsorted(before, np.arange(bucket_edges, before[-1], bucket_edges)) + 1
    inner = {int(cut) * width for cut in cuts}
    return sorted({0, num_nodes} | {bound for bound in inner if bound < num_nodes})


def _chunks(length: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + _CHUNK_EDGES, length)) for start in range(0, length, _CHUNK_EDGES))


def _packed(lists: Sequence[EdgeList], bits: KeyBits) -> Iterator[Array]:
    for edges in lists:
        for start, stop in _chunks(len(edges)):
            yield bits.pack(edges, start, stop)


def _filled(length: int, parts: Iterator[Array]) -> Array:
    whole = np.empty(length, dtype=np.int64)
    filled = 0
    for part in parts:
        whole[filled : filled + len(part)] = part
        filled += len(part)
    return whole


def _distinct(keys: Array) -> Array:
    repeated = keys[1:] == keys[:-1]
    if not repeated.any():
        return keys
    distinct: Array = keys[np.concatenate([[True], ~repeated])]
    return distinct


def _buckets(
    lists: Sequence[EdgeList], bits: KeyBits, bounds: list[int], scratch: Path
) -> Iterator[Array]:
    """The edges into each range of targets."""
    if len(bounds) == 2:
        yield _filled(sum(map(len, lists)), _packed(lists, bits))
        return
    paths = [scratch / str(bucket) for bucket in range(len(bounds) - 1)]
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for keys in _packed(lists, bits):
            bucket_of = np.searchsorted(bounds, bits.targets(keys), side="right") - 1
            order = np.argsort(bucket_of, kind="stable")
            ends = np.cumsum(np.bincount(bucket_of, minlength=len(paths)))
            for file, part in zip(files, np.split(keys[order], ends[:-1]), strict=True):
                part.tofile(file)
    for path in paths:
        yield np.fromfile(path, dtype=np.int64)
        path.unlink()
