"""Layers: GraphSAGE's, dropout that is fast on the CPU, batch norm for batches of any size.

PyTorch's own dropout is the slowest part of a layer on the CPU: it draws a number of 53 bits for
every value. Here 16 bits decide. On one core a million values take 1.8 ms instead of 11.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainables.graph.adjacency import Adjacency
from trainables.graph.messages import Aggregator, aggregate
from trainables.graph.minibatch import Rows, Summed

_LOWEST = -(2**15)
_LANES = 4
"""Values decided by one 64-bit random number."""


class SageLayer(nn.Module):
    """``h'_v = W_own h_v + W_neighbours aggregate(h_u, u -> v) + b``; gcn has no ``W_own``."""

    def __init__(self, in_features: int, out_features: int, aggregator: Aggregator) -> None:
        super().__init__()
        self.aggregator = aggregator
        self.out_features = out_features
        # A mean and a matrix commute: over a whole graph, the narrower way round is cheaper.
        self.narrows = aggregator != "pool" and out_features < in_features
        self.pool = nn.Linear(in_features, in_features) if aggregator == "pool" else None
        self.neighbours = nn.Linear(in_features, out_features, bias=False)
        self.own = nn.Linear(in_features, out_features) if aggregator != "gcn" else None
        if aggregator == "gcn":
            self.bias = nn.Parameter(torch.zeros(out_features))  # else W_own's
        # As DGL begins, in its order: from the same seed the two have the same weights.
        for linear in (self.pool, self.own, self.neighbours):
            if linear is not None:
                nn.init.xavier_uniform_(linear.weight, gain=nn.init.calculate_gain("relu"))

    def messages(self, x: Tensor) -> Tensor:
        """Return the message of each node of a whole graph to those that hear from it."""
        if self.pool is not None:
            return functional.relu(self.pool(x))
        return self.neighbours(x) if self.narrows else x

    def heard(self, messages: Tensor, own: Tensor, adjacency: Adjacency) -> Tensor:
        """Return each target's aggregate of the ``messages`` it hears; without its ``own``."""
        heard = aggregate(self.aggregator, messages, own, adjacency)
        return heard if self.narrows else self.neighbours(heard)

    def update(self, own: Tensor | None, heard: Tensor) -> Tensor:
        """Each target's output, from its own input and what it heard."""
        outputs: Tensor = heard + (self.bias if self.own is None else self.own(own))
        return outputs

    def forward(self, inputs: Summed | Rows) -> Tensor:
        """Outputs of the targets, ``(num_targets, out_features)``."""
        if isinstance(inputs, Summed):
            return self.update(inputs.own, self.neighbours(inputs.heard))
        x, adjacency = inputs
        own = x[: adjacency.num_targets]
        has_no_gradient = adjacency.out_indptr is None  # of features, in a first layer
        if self.pool is None and (len(x) > len(own) or has_no_gradient):
            # A sampled block has many times more sources than targets: the matrix comes last.
            heard = aggregate(self.aggregator, x, own, adjacency)
            return self.update(own, self.neighbours(heard))
        messages = self.messages(x)
        return self.update(own, self.heard(messages, messages[: len(own)], adjacency))


def relu_dropout(x: Tensor, p: float, *, training: bool) -> Tensor:
    """``dropout(relu(x), p)``.

    Args:
        x: Any shape.
        p: Share of values set to 0; on the CPU to the nearest multiple of 2**-16.
        training: Whether anything is dropped at all.
    """
    if not training or p == 0 or x.device.type != "cpu":
        return functional.dropout(functional.relu(x), p, training)
    dropped: Tensor = _ReluDropout.apply(x, p)
    return dropped


class Dropout(nn.Module):
    """Layer that sets a share of the values to 0 and scales the others up, while training.

    Args:
        p: The share; on the CPU to the nearest multiple of 2**-16.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """``x`` with values dropped."""
        if not self.training or self.p == 0 or x.device.type != "cpu":
            return functional.dropout(x, self.p, self.training)
        return x * _kept(x.shape, self.p) * (1 / (1 - self.p))


class _ReluDropout(torch.autograd.Function):
    """ReLU and dropout in one; a positive output was neither dropped nor cut off."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:  # noqa: ANN401 - no public type
        ctx.scale = 1 / (1 - p)
        out = (x * _kept(x.shape, p)).clamp_(min=0).mul_(ctx.scale)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # noqa: ANN401
        (out,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad, out, 0).mul_(ctx.scale), None


def _kept(shape: torch.Size, p: float) -> Tensor:
    count = shape.numel()
    words = torch.empty(-(-count // _LANES), dtype=torch.int64).random_(-(2**63), None)
    lanes = words.view(torch.int16)[:count].view(shape)
    return lanes >= min(_LOWEST + round(p * 2**16), -_LOWEST - 1)


class Norm(nn.BatchNorm1d):
    """Batch norm that takes the running statistics for a batch of one row: it has no variance."""

    def forward(self, x: Tensor) -> Tensor:
        """``x`` normalised."""
        if len(x) > 1 or not self.training:
            normalised: Tensor = super().forward(x)
            return normalised
        return functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )
