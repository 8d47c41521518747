from __future__ import annotations

import pytest
import torch

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph import inference
from trainables.graph.adjacency import Adjacency
from trainables.graph.evaluation import Evaluation
from trainables.graph.inference import infer
from trainables.graph.messages import Aggregator
from trainables.graph.minibatch import Rows
from trainables.graphsage import GraphSage, SageConfig

INDPTR, INDICES = (torch.from_numpy(array) for array in symmetric_graph())
GRAPH = Adjacency.symmetric(INDPTR, INDICES)
X = torch.randn(500, 20, generator=torch.Generator().manual_seed(0))


def network(aggregator: Aggregator, layers: int) -> GraphSage:
    torch.manual_seed(0)
    config = SageConfig(mode="full", aggregator=aggregator, layers=layers, hidden=32)
    return GraphSage(config, 20, 6).eval()


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_layer_by_layer_in_chunks_is_the_network_on_the_whole_graph(
    aggregator: Aggregator, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "CHUNK", 64)
    model = network(aggregator, layers)
    expected = model(Rows(X, GRAPH), (GRAPH,) * (layers - 1)).detach()
    targets = torch.randperm(500)[:150]
    found = infer(model.stack(), X, GRAPH, targets)
    torch.testing.assert_close(found, expected[targets], rtol=1e-4, atol=1e-5)
    assert not found.requires_grad


def test_targets_of_an_adjacency_are_picked_with_their_neighbours() -> None:
    picked = GRAPH.of(torch.tensor([3, 499, 3, 0]))
    assert picked.num_targets == 4
    for place, node in enumerate((3, 499, 3, 0)):
        mine = picked.indices[picked.indptr[place] : picked.indptr[place + 1]]
        assert mine.tolist() == INDICES[INDPTR[node] : INDPTR[node + 1]].tolist()


def test_accuracies_are_shares_of_each_split() -> None:
    model = network("mean", 2)
    scores = infer(model.stack(), X, GRAPH, torch.arange(500))
    labels = scores.argmax(1)
    labels[:30] += 1  # 30 of the first 100 are wrong
    evaluation = Evaluation(features=X, adjacency=GRAPH, labels=labels, num_cores=2)
    model.train()
    threads = torch.get_num_threads()
    found = evaluation.accuracies(
        model, {"val_acc": torch.arange(100), "test_acc": torch.arange(100, 120)}
    )
    assert found == {"val_acc": pytest.approx(0.7), "test_acc": 1.0}
    assert model.training
    assert torch.get_num_threads() == threads


@pytest.mark.gpu
@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_inference_goes_where_the_features_are(aggregator: Aggregator) -> None:
    model, cuda = network(aggregator, 2), torch.device("cuda")
    here = infer(model.stack(), X, GRAPH, torch.arange(500))
    there = infer(model.to(cuda).stack(), X.to(cuda), GRAPH.to(cuda), torch.arange(500).to(cuda))
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-4)
