"""Adjacency: neighbours of targets, of some of them, and of the sources of a backward pass."""

from collections.abc import Callable

import dgl
import dgl.function as dgl_function
import pytest
import torch
from torch import Tensor

from tests.trainables.graph.graphs import random_block
from trainables.graph.adjacency import Adjacency
from trainables.graph.messages import (
    Aggregator,
    _scattered_max,
    aggregate,
    neighbour_max,
    neighbour_mean,
    neighbour_sum,
)


def by_dgl(block: dgl.DGLGraph, x: Tensor, reduce: str) -> Tensor:
    with block.local_scope():
        block.srcdata["x"] = x
        block.update_all(dgl_function.copy_u("x", "m"), getattr(dgl_function, reduce)("m", "out"))
        return block.dstdata["out"]


@pytest.mark.parametrize("features", [1, 16, 33])
@pytest.mark.parametrize(
    ("ours", "dgls"), [(neighbour_sum, "sum"), (neighbour_mean, "mean"), (neighbour_max, "max")]
)
def test_messages_and_their_gradients_are_those_of_dgl(
    ours: Callable[[Tensor, Adjacency], Tensor], dgls: str, features: int
) -> None:
    block, adjacency = random_block()
    x = torch.randn(300, features, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    out, expected = ours(x, adjacency), by_dgl(block, other, dgls)
    upstream = torch.randn_like(out)
    out.backward(upstream)
    expected.backward(upstream)
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(x.grad, other.grad, rtol=1e-5, atol=1e-5)


def test_what_a_gpu_does_for_maxima_gives_the_same() -> None:
    _, adjacency = random_block()
    x = torch.randn(300, 8, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    upstream = torch.randn(100, 8)
    expected, largest = neighbour_max(x, adjacency), _scattered_max(other, adjacency)
    expected.backward(upstream)
    largest.backward(upstream)
    torch.testing.assert_close(largest, expected)
    torch.testing.assert_close(x.grad, other.grad)


def test_no_targets_to_hear_from_is_zero_and_no_targets_at_all_is_empty() -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    x = torch.randn(3, 2)
    for aggregator in ("mean", "gcn", "pool"):
        lonely = Adjacency(torch.zeros(3, dtype=torch.int64), nothing)
        assert not aggregate(aggregator, x, torch.zeros(2, 2), lonely).any()
        no_targets = Adjacency(torch.zeros(1, dtype=torch.int64), nothing)
        assert aggregate(aggregator, x, x[:0], no_targets).shape == (0, 2)


@pytest.mark.gpu
@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_gpu_gives_what_the_cpu_gives(aggregator: Aggregator, dtype: torch.dtype) -> None:
    _, adjacency = random_block(num_sources=256)
    cuda = torch.device("cuda")
    # No two alike, not in bfloat16 either: DGL gives only one of equal maxima the gradient.
    x = torch.stack([torch.randperm(256) - 128.0 for _ in range(16)], dim=1) / 64
    x.requires_grad_()
    there = x.detach().to(cuda, dtype).requires_grad_()
    upstream = torch.randn(100, 16).to(dtype)
    tolerance = 1e-5 if dtype is torch.float32 else 2e-2
    here = aggregate(aggregator, x, x[:100], adjacency)
    on_gpu = aggregate(aggregator, there, there[:100], adjacency.to(cuda))
    assert on_gpu.dtype == dtype
    here.backward(upstream.float())
    on_gpu.backward(upstream.to(cuda))
    torch.testing.assert_close(on_gpu.cpu().float(), here, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(there.grad.cpu().float(), x.grad, rtol=tolerance, atol=tolerance)
