import torch

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


def test_a_sparse_gradient_has_the_rows_of_the_batch_and_a_dense_one_all() -> None:
    sparse, dense = Trained("sparse"), Trained("dense")
    for trained in (sparse, dense):
        trained.step(a_batch(0, nodes=10))
    gradient = sparse.tables.own.weight.grad
    assert gradient.is_sparse
    assert sorted(gradient.coalesce().indices()[0].tolist()) == list(range(10))
    expected = dense.tables.own.weight.grad
    assert not expected.is_sparse
    torch.testing.assert_close(gradient.to_dense(), expected)
    assert isinstance(sparse.optimizers.tables, torch.optim.SparseAdam)
    assert isinstance(dense.optimizers.tables, torch.optim.Adam)


def test_the_loss_is_that_of_skip_gram_with_negative_sampling() -> None:
    scores = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, -3.0]])
    sigmoid = torch.sigmoid
    expected = -(sigmoid(scores[:, 0]).log().sum() + sigmoid(-scores[:, 1:]).log().sum())
    torch.testing.assert_close(skip_gram_loss(scores), expected)
