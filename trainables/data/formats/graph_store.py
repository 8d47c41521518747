"""A graph, its features, labels and splits as memory-mapped arrays that trials share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array, as_tensor, map_array
from trainables.data.formats.conversion import Manifest
from trainables.data.formats.dgl_graph import dgl_over

if TYPE_CHECKING:
    import torch

KIND = "graph"
ARRAYS = ("indptr", "indices", "features", "labels", "train", "val", "test")
"""Each is a file ``<name>.npy`` of the store."""


@dataclass(frozen=True, kw_only=True)
class GraphTensors:
    """The arrays of a :class:`GraphStore` as tensors over the same memory."""

    indptr: torch.Tensor
    indices: torch.Tensor
    features: torch.Tensor
    labels: torch.Tensor
    train: torch.Tensor
    val: torch.Tensor
    test: torch.Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphStore:
    """A graph in compressed sparse columns, opened in milliseconds, whatever its size.

    The nodes with an edge **into** ``v`` are ``indices[indptr[v]:indptr[v + 1]]``,
    ascending. Graphs are undirected: each edge is stored
    in both directions, so these are also the nodes that ``v`` has an edge to.

    Attributes:
        name: Name of the data set.
        fingerprint: Hash of the arrays.
        num_classes: Number of classes; a label is in ``0 .. num_classes - 1``. Not
            every class need occur. 0 where the set has only edges.
        indptr: int64, ``(num_nodes + 1,)``.
        indices: int64, ``(num_edges,)``.
        features: float32, ``(num_nodes, num_features)``; no features where the set has only
            edges.
        labels: int64, ``(num_nodes,)``; -1 where unknown, which no node of a split is.
        train: Nodes to train on, int64, ascending; no node is in two of the three.
        val: Nodes to choose settings by.
        test: Nodes to report on, once.
    """

    name: str
    fingerprint: str
    num_classes: int
    indptr: Array
    indices: Array
    features: Array
    labels: Array
    train: Array
    val: Array
    test: Array

    @classmethod
    def open(cls, folder: Path) -> GraphStore:
        """Open a converted graph without reading it.

        Args:
            folder: The path that a data set's ``prepare`` returns.

        Raises:
            DataError: ``folder`` is no graph store, or a file of it is damaged.
        """
        manifest = Manifest.read(folder)
        if manifest.kind != KIND:
            raise DataError(f"{folder} holds {manifest.kind} data, not a {KIND}")
        return cls(
            name=manifest.name,
            fingerprint=manifest.fingerprint,
            num_classes=manifest.facts["classes"],
            **{name: map_array(folder / f"{name}.npy") for name in ARRAYS},
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Number of stored edges: two for each undirected one."""
        return len(self.indices)

    @property
    def num_features(self) -> int:
        """Features of a node."""
        return int(self.features.shape[1])

    def tensors(self) -> GraphTensors:
        """The arrays as tensors that share their memory."""
        return GraphTensors(
            **{f.name: as_tensor(getattr(self, f.name)) for f in fields(GraphTensors)}
        )

    def dgl_graph(self) -> Any:  # noqa: ANN401 - DGL has no types
        """A ``dgl.DGLGraph`` over the same memory. See :func:`dgl_graph.dgl_over`."""
        return dgl_over(self.indptr, self.indices)
