from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional

from trainables.embedding.minibatch import PairBatch
from trainables.embedding.tables import (
    Aggregation,
    EmbeddingKind,
    EmbeddingTables,
    TwoOptimizers,
    skip_gram_loss,
)

NUM_NODES, DIMS = 30, 8


def a_batch(seed: int, nodes: int = NUM_NODES, size: int = 40) -> PairBatch:
    """Return a batch of the first ``nodes`` nodes, every one of them in each role."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(columns: int) -> torch.Tensor:
        rest = torch.randint(nodes, (size * columns - nodes,), generator=generator)
        return torch.cat([torch.arange(nodes), rest]).view(size, columns)

    return PairBatch(drawn(1).squeeze(1), drawn(3), drawn(5), size)


class Trained:
    """Tables that take steps; the same ones at first, whatever the kind."""

    def __init__(self, kind: EmbeddingKind) -> None:
        torch.manual_seed(0)
        self.tables, self.rest = EmbeddingTables(NUM_NODES, DIMS, kind), Aggregation(DIMS)
        self.optimizers = TwoOptimizers(self.tables, self.rest, lr=0.05)

    def step(self, batch: PairBatch) -> float:
        loss = skip_gram_loss(self.rest(self.tables(batch))) / batch.total
        loss.backward()
        self.optimizers.tables.step()
        self.optimizers.rest.step()
        return loss.item()

    def weights(self) -> list[torch.Tensor]:
        return [p.detach().clone() for p in (*self.tables.parameters(), *self.rest.parameters())]


def test_a_sparse_gradient_holds_the_rows_of_the_batch_and_a_dense_one_all() -> None:
    sparse, dense = Trained("sparse"), Trained("dense")
    for trained in (sparse, dense):
        trained.step(a_batch(0, nodes=10))
    gradient = sparse.tables.own.weight.grad
    assert gradient is not None
    assert gradient.is_sparse
    assert sorted(gradient.coalesce().indices()[0].tolist()) == list(range(10))
    expected = dense.tables.own.weight.grad
    assert expected is not None
    assert not expected.is_sparse
    torch.testing.assert_close(gradient.to_dense(), expected)
    assert isinstance(sparse.optimizers.tables, torch.optim.SparseAdam)
    assert isinstance(dense.optimizers.tables, torch.optim.Adam)


def test_sparse_and_dense_learn_the_same_while_every_row_is_in_every_batch() -> None:
    sparse, dense = Trained("sparse"), Trained("dense")
    for trained in (sparse, dense):
        # SparseAdam adds epsilon before it corrects the bias of the moments, Adam after.
        trained.optimizers.tables.param_groups[0]["eps"] = 1e-20
    for seed in range(20):
        losses = [trained.step(a_batch(seed)) for trained in (sparse, dense)]
        for trained in (sparse, dense):
            trained.optimizers.zero_grad()
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for one, other in zip(sparse.weights(), dense.weights(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_rows_that_no_batch_holds_rest_with_sparse_adam_and_go_on_with_adam() -> None:
    moved = {}
    kinds: tuple[EmbeddingKind, ...] = ("sparse", "dense")
    for kind in kinds:
        trained = Trained(kind)
        trained.step(a_batch(0))
        trained.optimizers.zero_grad()
        before = trained.tables.own.weight.detach().clone()
        trained.step(a_batch(1, nodes=10))
        changed = (trained.tables.own.weight != before).any(1)
        assert changed[:10].all()
        moved[kind] = bool(changed[10:].any())
    assert moved == {"sparse": False, "dense": True}


def test_scores_are_those_of_the_formula() -> None:
    trained, batch = Trained("dense"), a_batch(3)
    scores = trained.rest(trained.tables(batch))
    tables, heard = trained.tables, trained.rest.heard.weight
    for row in (0, 7):
        own = tables.own.weight[batch.centres[row]]
        said = tables.said.weight[batch.heard[row]].mean(0)
        embedding = functional.normalize(own + heard @ said, dim=0)
        expected = tables.contexts.weight[batch.contexts[row]] @ embedding
        torch.testing.assert_close(scores[row], expected)


def test_the_loss_is_that_of_skip_gram_with_negative_sampling() -> None:
    scores = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, -3.0]])
    sigmoid = torch.sigmoid
    expected = -(sigmoid(scores[:, 0]).log().sum() + sigmoid(-scores[:, 1:]).log().sum())
    torch.testing.assert_close(skip_gram_loss(scores), expected)


def test_both_optimizers_are_in_a_checkpoint() -> None:
    trained, other = Trained("sparse"), Trained("sparse")
    trained.step(a_batch(0))
    trained.optimizers.zero_grad()
    for part in ("tables", "rest"):
        getattr(other, part).load_state_dict(copy.deepcopy(getattr(trained, part).state_dict()))
    other.optimizers.load_state_dict(copy.deepcopy(trained.optimizers.state_dict()))
    for each in (trained, other):
        each.step(a_batch(1))
    for one, two in zip(trained.weights(), other.weights(), strict=True):
        assert torch.equal(one, two)
