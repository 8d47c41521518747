"""Attention over the edges of relational blocks, for all relations at once.

Plain PyTorch operations, the same on the CPU and on a GPU.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainables.graph.relational import RelationalBlock

NEGATIVE_SLOPE = 0.2
"""Slope of the leaky relu over attention scores, below 0."""


class RelationalAttention(nn.Module):
    """Graph attention with separate weights for each relation, and a skip connection.

    ``h'_v = skip(h_v) + sum_r concat_h sum_u softmax_u(leaky(a_rh W_rh h_u + b_rh W_rh h_v))
    W_rh h_u + c_r`` over the sources ``u`` that ``v`` hears from by relation ``r``. Equal to
    DGL's ``GATConv`` on the edges of each relation, without projecting every node once for
    each relation: scores need no projected nodes, and sums are taken before the projection.
    With ``compiles`` the projection is left out of what is compiled.
    """

    def __init__(
        self, width: int, hidden: int, *, heads: int, num_relations: int, compiles: bool = False
    ) -> None:
        super().__init__()
        # Its pieces differ in each batch: compiled, it would be compiled anew for each.
        self._projected = torch.compiler.disable(projected) if compiles else projected
        size = hidden // heads
        self.weight = nn.Parameter(torch.empty(num_relations, heads, size, width))
        self.of_source = nn.Parameter(torch.empty(num_relations, heads, size))
        self.of_target = nn.Parameter(torch.empty(num_relations, heads, size))
        self.bias = nn.Parameter(torch.zeros(num_relations, hidden))
        self.skip = nn.Linear(width, hidden)
        gain = nn.init.calculate_gain("relu")
        for relation in range(num_relations):
            nn.init.xavier_normal_(self.weight.data[relation].view(hidden, width), gain)
            nn.init.xavier_normal_(self.of_source.data[relation].unsqueeze(0), gain)
            nn.init.xavier_normal_(self.of_target.data[relation].unsqueeze(0), gain)

    def forward(self, x: Tensor, block: RelationalBlock) -> Tensor:
        """Outputs of the targets, ``(num_targets, hidden)``."""
        own = x[: block.num_targets]
        out: Tensor = self.skip(own) + self.bias.sum(0)
        if not len(block.sources):  # other ranks wait for a gradient, which is 0 here
            return out + 0 * (self.weight.sum() + self.of_source.sum() + self.of_target.sum())
        weights = softmax_over_pairs(self._scores(x, own, block), block)
        heard = attended(x, weights, block)  # (heads, pairs, width)
        parts = self._projected(heard, self.weight, block)  # (pairs, hidden)
        return out.index_add(0, block.targets, parts.to(out.dtype))

    def _scores(self, x: Tensor, own: Tensor, block: RelationalBlock) -> Tensor:
        """Return the attention of each target to each source, ``(num_edges, heads)``."""
        num_relations, heads = self.of_source.shape[:2]
        to_source = torch.einsum("rhsw,rhs->wrh", self.weight, self.of_source).flatten(1)
        to_target = torch.einsum("rhsw,rhs->wrh", self.weight, self.of_target).flatten(1)
        of_sources = (x @ to_source).view(-1, heads)  # a row for each source and relation
        of_targets = (own @ to_target).view(-1, heads)
        edge_relations = block.relations[block.pairs]
        scores = of_sources[block.sources * num_relations + edge_relations]
        scores = scores + of_targets[block.targets * num_relations + block.relations][block.pairs]
        return functional.leaky_relu(scores, NEGATIVE_SLOPE)


def softmax_over_pairs(scores: Tensor, block: RelationalBlock) -> Tensor:
    """Softmax over the edges of each pair of a relation and a target.

    Args:
        scores: ``(num_edges, heads)``.
        block: The edges.

    Returns:
        Weights that add up to 1 in each pair and head, ``(num_edges, heads)``, in float32 at
        least.
    """
    precise = scores.to(torch.promote_types(scores.dtype, torch.float32))
    weights: Tensor = _Softmax.apply(precise, block.indptr, block.pairs)
    return weights


def attended(x: Tensor, weights: Tensor, block: RelationalBlock) -> Tensor:
    """Weighted sums over the edges of each pair.

    Args:
        x: One row for each source, ``(num_sources, features)``.
        weights: ``(num_edges, heads)``.
        block: The edges.

    Returns:
        ``(heads, num_pairs, features)``.
    """
    num_edges, heads = weights.shape
    # A bag for each head and pair, one head after the other.
    each_head = torch.arange(heads, device=x.device).unsqueeze(1) * num_edges
    starts = (each_head + block.indptr[:-1]).flatten()
    sums = functional.embedding_bag(
        block.sources.repeat(heads),
        x,
        functional.pad(starts, (0, 1), value=heads * num_edges),
        mode="sum",
        per_sample_weights=weights.t().flatten().to(x.dtype),
        include_last_offset=True,
    )
    return sums.view(heads, len(block.targets), x.shape[1])


def projected(heard: Tensor, weight: Tensor, block: RelationalBlock) -> Tensor:
    """Return each pair's message, by the matrix of its relation and of each head.

    Args:
        heard: ``(heads, num_pairs, features)``.
        weight: ``(num_relations, heads, size, features)``.
        block: The pairs.

    Returns:
        ``(num_pairs, heads * size)``, in the type that autocast computes in.
    """
    kind = heard.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else heard.dtype
    out: Tensor = _Projection.apply(heard.to(dtype), weight.to(dtype), block.bounds)
    return out


class _Projection(torch.autograd.Function):
    """One product for each relation that has pairs, into and out of slices of one array.

    Left to itself, PyTorch would add up a gradient as large as all weights for each relation.
    """

    @staticmethod
    def forward(ctx: Any, heard: Tensor, weight: Tensor, bounds: tuple[int, ...]) -> Tensor:  # noqa: ANN401 - PyTorch's context has no public type
        ctx.save_for_backward(heard, weight)
        ctx.bounds = bounds
        out = heard.new_empty((heard.shape[1], *weight.shape[1:3]))
        for relation, pairs in _relations(bounds):
            product = torch.bmm(heard[:, pairs], weight[relation].transpose(1, 2))
            out[pairs] = product.transpose(0, 1)
        return out.flatten(1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN401
        heard, weight = ctx.saved_tensors
        by_head = grad.view(len(grad), *weight.shape[1:3]).transpose(0, 1)
        of_heard, of_weight = torch.empty_like(heard), torch.zeros_like(weight)
        for relation, pairs in _relations(ctx.bounds):
            here = by_head[:, pairs]
            of_heard[:, pairs] = torch.bmm(here, weight[relation])
            torch.bmm(here.transpose(1, 2), heard[:, pairs], out=of_weight[relation])
        return of_heard, of_weight, None


def _relations(bounds: tuple[int, ...]) -> list[tuple[int, slice]]:
    each = enumerate(pairwise(bounds))
    return [(relation, slice(begin, end)) for relation, (begin, end) in each if begin < end]


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, indptr: Tensor, pairs: Tensor) -> Tensor:  # noqa: ANN401 - PyTorch's context has no public type
        lengths = indptr.diff()
        largest = torch.segment_reduce(scores, "max", lengths=lengths, unsafe=True)
        weights = (scores - largest[pairs]).exp_()
        weights /= _pair_sums(weights, indptr)[pairs]
        ctx.save_for_backward(weights, indptr, pairs)
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        weights, indptr, pairs = ctx.saved_tensors
        weighted = weights * grad
        return weighted - weights * _pair_sums(weighted, indptr)[pairs], None, None


def _pair_sums(values: Tensor, indptr: Tensor) -> Tensor:
    everyone = torch.arange(len(values), device=values.device)
    return functional.embedding_bag(everyone, values, indptr, mode="sum", include_last_offset=True)
