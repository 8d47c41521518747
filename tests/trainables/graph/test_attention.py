from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from trainables.graph.attention import attended, projected, softmax_over_pairs
from trainables.graph.relational import RelationalBlock


def random_block(num_edges: int = 60) -> RelationalBlock:
    """Twelve sources, six targets, four relations of which one has no edge."""
    rng = np.random.default_rng(0)
    return RelationalBlock.of(
        rng.integers(0, 5, num_edges),
        rng.integers(0, 12, num_edges).astype(np.int32),
        rng.choice([0, 1, 3], num_edges),
        num_targets=6,
        num_relations=4,
    )


BLOCK = random_block()


def doubles(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


def test_weights_are_a_softmax_within_each_pair() -> None:
    scores = torch.randn(60, 3) * 5
    weights = softmax_over_pairs(scores, BLOCK)
    for pair in range(len(BLOCK.targets)):
        edges = slice(int(BLOCK.indptr[pair]), int(BLOCK.indptr[pair + 1]))
        torch.testing.assert_close(weights[edges], scores[edges].softmax(0))


def test_large_scores_overflow_nowhere() -> None:
    weights = softmax_over_pairs(torch.full((60, 2), 1e4), BLOCK)
    assert weights.isfinite().all()


def test_the_softmax_s_gradient_is_that_of_torch() -> None:
    scores, upstream = torch.randn(60, 3, requires_grad=True), torch.randn(60, 3)
    softmax_over_pairs(scores, BLOCK).backward(upstream)
    other = scores.detach().clone().requires_grad_()
    parts = other.split(BLOCK.indptr.diff().tolist())
    torch.cat([part.softmax(0) for part in parts]).backward(upstream)
    torch.testing.assert_close(scores.grad, other.grad)


def test_sums_are_weighted_over_the_edges_of_each_pair() -> None:
    x, weights = torch.randn(12, 7), torch.rand(60, 3)
    sums = attended(x, weights, BLOCK)
    expected = torch.zeros(3, len(BLOCK.targets), 7)
    messages = weights.t().unsqueeze(2) * x[BLOCK.sources]
    expected.index_add_(1, BLOCK.pairs, messages)
    torch.testing.assert_close(sums, expected)


def test_the_sums_gradients_are_right() -> None:
    x, weights = doubles(12, 4), doubles(60, 2)
    assert torch.autograd.gradcheck(lambda x, w: attended(x, w, BLOCK), (x, weights))


def test_each_relation_s_pairs_go_through_its_own_matrix() -> None:
    heard, weight = doubles(2, len(BLOCK.targets), 3), doubles(4, 2, 5, 3)
    out = projected(heard, weight, BLOCK)
    for pair, relation in enumerate(BLOCK.relations.tolist()):
        by_head = [weight[relation, head] @ heard[head, pair] for head in range(2)]
        torch.testing.assert_close(out[pair], torch.cat(by_head))


def test_the_products_gradients_are_right() -> None:
    heard, weight = doubles(2, len(BLOCK.targets), 3), doubles(4, 2, 5, 3)
    assert torch.autograd.gradcheck(lambda h, w: projected(h, w, BLOCK), (heard, weight))
    projected(heard, weight, BLOCK).sum().backward()
    assert weight.grad is not None
    assert not weight.grad[2].any()  # the relation without an edge
    assert weight.grad[3].any()


@pytest.mark.parametrize("enabled", [False, True])
def test_products_are_taken_in_the_type_of_autocast(enabled: bool) -> None:
    heard = torch.randn(2, len(BLOCK.targets), 3, requires_grad=True)
    weight = torch.randn(4, 2, 5, 3, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        out = projected(heard, weight, BLOCK)
    assert out.dtype is (torch.bfloat16 if enabled else torch.float32)
    out.sum().backward()
    assert heard.grad is not None
    assert heard.grad.dtype is torch.float32
    torch.testing.assert_close(
        out.float(), projected(heard, weight, BLOCK), rtol=0.02, atol=0.05 if enabled else 0.0
    )
