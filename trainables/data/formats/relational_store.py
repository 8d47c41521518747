"""Graphs with several kinds of nodes and edges, as memory-mapped arrays that trials share."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from orchestrator.errors import DataError
from trainables.data.formats.arrays import (
    Array,
    as_tensor,
    expect_random_access,
    map_array,
)
from trainables.data.formats.conversion import Manifest
from trainables.data.formats.dgl_graph import dgl_over

if TYPE_CHECKING:
    import torch

KIND = "relational"
UNLABELLED = -1
SCHEMA = "schema.json"
ARRAYS = ("indptr", "indices", "edge_type", "labels", "train", "val", "test")
FEATURES = "features.npy"
_HALVES = ("test_dev", "test_challenge")


@dataclass(frozen=True, kw_only=True)
class NodeType:
    """Nodes ``offset .. offset + num_nodes - 1``."""

    name: str
    offset: int
    num_nodes: int


@dataclass(frozen=True, kw_only=True)
class Relation:
    """Meaning of one value of ``edge_type``: edges from ``source`` to ``target`` nodes."""

    source: str
    name: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Meaning of the numbers in the arrays.

    Attributes:
        node_types: In order of their nodes.
        relations: ``edge_type`` is a position in it.
        target: Type of the nodes that have labels and are in the splits.
        num_classes: Number of classes.
    """

    node_types: tuple[NodeType, ...]
    relations: tuple[Relation, ...]
    target: str
    num_classes: int

    def node_type(self, name: str) -> NodeType:
        """The node type called ``name``."""
        return next(kind for kind in self.node_types if kind.name == name)

    def write(self, folder: Path) -> None:
        """Write it to a store's folder."""
        (folder / SCHEMA).write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, folder: Path) -> Schema:
        """Return the schema that :meth:`write` wrote.

        Raises:
            DataError: It is damaged.
        """
        try:
            return msgspec.json.decode((folder / SCHEMA).read_bytes(), type=cls)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            hint = f"remove {folder}: it is made again when it is next used"
            raise DataError(f"{folder / SCHEMA} is damaged: {error}", hint) from None


@dataclass(frozen=True, kw_only=True)
class RelationalTensors:
    """The arrays of a :class:`RelationalStore` as tensors over the same memory."""

    indptr: torch.Tensor
    indices: torch.Tensor
    edge_type: torch.Tensor
    features: torch.Tensor | None
    labels: torch.Tensor
    train: torch.Tensor
    val: torch.Tensor
    test: torch.Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class RelationalStore:
    """Nodes of all types in one space of numbers, edges with a type, opened in milliseconds.

    The edges into node ``v`` are number ``indptr[v] .. indptr[v + 1] - 1``; edge ``i`` comes
    from ``indices[i]`` and is of relation ``schema.relations[edge_type[i]]``. Every relation
    is there in both directions, so that messages can reach every node.

    Attributes:
        folder: Folder of its files.
        name: Name of the data set.
        fingerprint: Hash of the content.
        schema: Node types, relations and classes.
        indptr: int64, ``(num_nodes + 1,)``.
        indices: int64, ``(num_edges,)``.
        edge_type: uint8, or int16 for more than 256 relations, ``(num_edges,)``.
        features: float16 or float32, ``(num_nodes, num_features)``, or None where the set
            has none. May be larger than memory: take rows of it, never all.
        labels: int64, ``(num_nodes,)``; -1 where unknown and for nodes of other types.
        train: Nodes to train on, int64; no node is in two of the three.
        val: Nodes to choose settings by.
        test: Nodes to report on, in the order of the set. MAG240M's have no known labels:
            predictions for them are handed in.
        test_dev: The part of ``test`` with public results, if a set has one.
        test_challenge: The other part.
    """

    folder: Path
    name: str
    fingerprint: str
    schema: Schema
    indptr: Array
    indices: Array
    edge_type: Array
    features: Array | None
    labels: Array
    train: Array
    val: Array
    test: Array
    test_dev: Array | None = None
    test_challenge: Array | None = None

    @classmethod
    def open(cls, folder: Path) -> RelationalStore:
        """Open a converted graph without reading it.

        Args:
            folder: The path that a data set's ``prepare`` returns.

        Raises:
            DataError: ``folder`` is no relational store, or a file of it is damaged.
        """
        manifest = Manifest.read(folder)
        if manifest.kind != KIND:
            raise DataError(f"{folder} holds {manifest.kind} data, not a {KIND} graph")
        return cls(
            folder=folder,
            name=manifest.name,
            fingerprint=manifest.fingerprint,
            schema=Schema.read(folder),
            features=_features(folder) if FEATURES in manifest.files else None,
            **{
                name: map_array(folder / f"{name}.npy")
                for name in (*ARRAYS, *_HALVES)
                if name in ARRAYS or f"{name}.npy" in manifest.files
            },
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all types."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Number of edges of all relations."""
        return len(self.indices)

    @property
    def num_relations(self) -> int:
        """Number of relations."""
        return len(self.schema.relations)

    @property
    def num_features(self) -> int:
        """Features of a node; 0 where the set has none."""
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return self.schema.num_classes

    def tensors(self) -> RelationalTensors:
        """The arrays as tensors that share their memory."""
        return RelationalTensors(
            features=None if self.features is None else as_tensor(self.features),
            **{name: as_tensor(getattr(self, name)) for name in ARRAYS},
        )

    def dgl_graph(self) -> Any:  # noqa: ANN401 - DGL has no types
        """A ``dgl.DGLGraph`` of all nodes over the same memory; edge types are not in it.

        The edge types of a sampled block are ``edge_type[block.edata[dgl.EID]]``.
        """
        return dgl_over(self.indptr, self.indices)


def _features(folder: Path) -> Array:
    features = map_array(folder / FEATURES)
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if features.nbytes > memory_bytes / 2:  # else reading ahead fills the cache sooner
        expect_random_access(features)
    return features
