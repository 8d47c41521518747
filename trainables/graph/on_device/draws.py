"""Draws and positions in torch operations: on any device bit by bit those of NumPy on the CPU.

torch has no shifts of unsigned numbers: int64 wraps around as uint64 does, and the copies of the
sign that a shift brings in are masked.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainables.graph.drawing import ALL
from trainables.graph.randomness import GOLDEN_32, GOLDEN_64, MIX_32, MIX_64

_MASK_32 = 2**32 - 1


@dataclass(frozen=True)
class DeviceDrawn:
    """Neighbours drawn for some targets; as :class:`~trainables.graph.drawing.Drawn`."""

    indptr: Tensor
    ids: Tensor
    edges: Tensor


@dataclass(frozen=True)
class DeviceDraw:
    """The draw of :class:`~trainables.graph.drawing.UniformDraw`, where the graph is.

    Attributes:
        indptr: In-neighbours of node ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
        indices: Node ids, ``(num_edges,)``.
        replace: Whether a neighbour may be drawn more than once.
    """

    indptr: Tensor
    indices: Tensor
    replace: bool

    def __call__(self, nodes: Tensor, fanout: int, key: int) -> DeviceDrawn:
        """At most ``fanout`` neighbours of each of ``nodes``; all of them for ``ALL``."""
        begin = self.indptr[nodes]
        degree = self.indptr[nodes + 1] - begin
        if fanout == ALL:
            counts = degree
            edges = _ranges(begin, starts(counts))
        elif self.replace:
            counts = (degree > 0) * fanout
            offsets = below(random_bits(nodes, fanout, key), degree.unsqueeze(1))
            edges = (offsets + begin.unsqueeze(1))[degree > 0].flatten()
        else:
            counts = degree.clamp(max=fanout)
            edges = _ranges(begin, starts(counts))
            many = (degree > fanout).nonzero().squeeze(1)
            chosen = _floyd(random_bits(nodes[many], fanout, key), degree[many])
            places = starts(counts)[many].unsqueeze(1) + torch.arange(fanout, device=nodes.device)
            edges[places] = chosen.t() + begin[many].unsqueeze(1)
        return DeviceDrawn(starts(counts), self.indices[edges], edges)


def relabelled(targets: Tensor, heard: Tensor, *, by_last_edge: bool) -> tuple[Tensor, Tensor]:
    """Positions of the nodes that distinct ``targets`` hear from.

    Args:
        targets: Ids, which have the first positions.
        heard: Ids.
        by_last_edge: Whether the others are in the order of the last edge to each, as
            :class:`~trainables.graph.sampling.ByTable` has them; else by id.

    Returns:
        The ids of all nodes by position, and the positions of ``heard``.
    """
    distinct, place = torch.unique(heard, return_inverse=True)
    by_id = targets.argsort()
    nearest = torch.searchsorted(targets[by_id], distinct).clamp(max=len(targets) - 1)
    position = by_id[nearest]
    is_new = targets[position] != distinct
    new = distinct[is_new]
    order = torch.arange(len(new), device=heard.device)
    if by_last_edge:
        edges = torch.arange(len(heard), device=heard.device)
        last = torch.zeros_like(distinct).scatter_reduce_(0, place, edges, "amax")
        by_edge = last[is_new].argsort()
        new, order = new[by_edge], torch.empty_like(order).scatter_(0, by_edge, order)
    position[is_new] = len(targets) + order
    return torch.cat([targets, new]), position[place]


def random_bits(nodes: Tensor, count: int, key: int) -> Tensor:
    """``count`` random whole numbers below 2**32 for each of ``nodes``, ``(len(nodes), count)``."""
    states = _mix64(nodes * _signed(GOLDEN_64) + _signed(key))
    lanes = torch.arange(count, device=nodes.device) * GOLDEN_32
    return _mix32((states.unsqueeze(1) + lanes) & _MASK_32)


def below(bits: Tensor, limit: Tensor) -> Tensor:
    """Scale random ``bits`` to whole numbers from 0 to ``limit`` - 1."""
    return _shifted(bits * limit, 32)


def starts(counts: Tensor) -> Tensor:
    """The start of each of some consecutive pieces, and the end of the last one."""
    indptr = counts.new_zeros(len(counts) + 1)
    torch.cumsum(counts, 0, out=indptr[1:])
    return indptr


def _ranges(begin: Tensor, indptr: Tensor) -> Tensor:
    edges = torch.arange(int(indptr[-1]), device=begin.device)
    return edges + torch.repeat_interleave(begin - indptr[:-1], indptr.diff())


def _floyd(bits: Tensor, limit: Tensor) -> Tensor:
    count = bits.shape[1]
    chosen = bits.new_empty((count, len(limit)))
    for i in range(count):
        last = limit - (count - i)
        value = below(bits[:, i], last + 1)
        chosen[i] = torch.where((chosen[:i] == value).any(0), last, value)
    return chosen


def _mix64(x: Tensor) -> Tensor:
    x = (x ^ _shifted(x, 30)) * _signed(MIX_64[0])
    x = (x ^ _shifted(x, 27)) * _signed(MIX_64[1])
    return x ^ _shifted(x, 31)


def _mix32(x: Tensor) -> Tensor:
    x = ((x ^ (x >> 16)) * MIX_32[0]) & _MASK_32
    x = ((x ^ (x >> 13)) * MIX_32[1]) & _MASK_32
    return x ^ (x >> 16)


def _shifted(x: Tensor, by: int) -> Tensor:
    """``x >> by`` of the unsigned number with the bits of ``x``."""
    shifted: Tensor = (x >> by) & ((1 << (64 - by)) - 1)
    return shifted


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
