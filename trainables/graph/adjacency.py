"""Adjacency: source nodes that each target node hears from, in plain tensors.

Plain tensors, rather than a graph object, because they cross to loader workers and to a
GPU for which DGL has no build, and because nothing has to be built from them a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor


class Adjacency(NamedTuple):
    """In-neighbours of every target, in compressed sparse column form.

    Attributes:
        indptr: Target ``i`` hears from ``indices[indptr[i]:indptr[i + 1]]``.
            ``(num_targets + 1,)``, of the same integer type as ``indices``.
        indices: Positions of the sources, ``(num_edges,)``.
        out_indptr: The same edges seen from the sources, which a backward pass follows;
            ``(num_sources + 1,)``. In a symmetric graph it is ``indptr`` itself. None
            where no gradient is to flow to the sources.
        out_indices: Positions of the targets, ``(num_edges,)``, or None likewise.
    """

    indptr: Tensor
    indices: Tensor
    out_indptr: Tensor | None = None
    out_indices: Tensor | None = None

    @classmethod
    def symmetric(cls, indptr: Tensor, indices: Tensor) -> Adjacency:
        """A graph in which every edge is there both ways: one copy serves both passes."""
        return cls(indptr, indices, indptr, indices)

    @property
    def num_targets(self) -> int:
        """Number of target nodes."""
        return self.indptr.numel() - 1

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.indices.numel()

    def degrees(self) -> Tensor:
        """Number of in-neighbours of every target, ``(num_targets,)``."""
        return self.indptr[1:] - self.indptr[:-1]

    def between(self, begin: int, end: int) -> Adjacency:
        """The targets from ``begin`` to before ``end``; without gradients."""
        indptr = self.indptr[begin : end + 1]
        return Adjacency(indptr - indptr[0], self.indices[int(indptr[0]) : int(indptr[-1])])

    def of(self, targets: Tensor) -> Adjacency:
        """The ``targets`` given by position; without gradients."""
        begin = self.indptr[targets]
        degrees = self.indptr[targets + 1] - begin
        indptr = torch.zeros(len(targets) + 1, dtype=begin.dtype, device=begin.device)
        torch.cumsum(degrees, 0, out=indptr[1:])
        edges = torch.arange(int(indptr[-1]), device=begin.device)
        edges += torch.repeat_interleave(begin - indptr[:-1], degrees)
        return Adjacency(indptr, self.indices[edges])

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Adjacency:
        """The same on ``device``; what is one tensor here is one tensor there."""
        indptr = self.indptr.to(device, non_blocking=non_blocking)
        indices = self.indices.to(device, non_blocking=non_blocking)
        if self.out_indptr is None or self.out_indices is None:
            return Adjacency(indptr, indices)
        if self.out_indices is self.indices:
            return Adjacency.symmetric(indptr, indices)
        out_indptr = self.out_indptr.to(device, non_blocking=non_blocking)
        out_indices = self.out_indices.to(device, non_blocking=non_blocking)
        return Adjacency(indptr, indices, out_indptr, out_indices)


def adjacency_with_gradient(indptr: np.ndarray, indices: np.ndarray, num_sources: int) -> Adjacency:
    """An adjacency that gradients can flow through.

    Args:
        indptr: ``(num_targets + 1,)``.
        indices: Positions of the sources, ``(num_edges,)``.
        num_sources: Number of source nodes.
    """
    num_targets = len(indptr) - 1
    # A byte an edge for values that are never looked at: scipy insists on some.
    values = np.ones(len(indices), dtype=np.int8)
    forward = csr_array((values, indices, indptr), shape=(num_targets, num_sources))
    backward = forward.tocsc()
    return Adjacency(
        torch.from_numpy(indptr),
        torch.from_numpy(indices),
        torch.from_numpy(backward.indptr),
        torch.from_numpy(backward.indices),
    )
