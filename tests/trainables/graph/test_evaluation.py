"""Figures of a network with all neighbours, which leave the network as it was."""

import pytest
import torch

from tests.trainables.graph.graphs import symmetric_graph
from trainables.classification import classified
from trainables.graph import inference
from trainables.graph.adjacency import Adjacency
from trainables.graph.evaluation import Evaluation
from trainables.graph.inference import infer
from trainables.graph.messages import Aggregator
from trainables.graph.minibatch import Rows
from trainables.graphsage import GraphSage, SageConfig

SPLITS = (("val", torch.arange(100)), ("test", torch.arange(100, 120)))


def test_accuracies_are_shares_of_each_split() -> None:
    model = network("mean", 2)
    scores = infer(model.stack(), X, GRAPH, torch.arange(500))
    labels = scores.argmax(1)
    labels[:30] = (labels[:30] + 1) % scores.shape[1]  # 30 of the first 100 are wrong
    evaluation = Evaluation(features=X, adjacency=GRAPH, labels=labels, num_cores=2)
    model.train()
    threads = torch.get_num_threads()
    found = evaluation.figures(model, dict(SPLITS))
    assert found["val_acc"] == pytest.approx(0.7)
    assert found["test_acc"] == 1.0
    whole = {split: classified(split, scores[nodes], labels[nodes]) for split, nodes in SPLITS}
    assert found == pytest.approx(whole["val"] | whole["test"])
    assert model.training
    assert torch.get_num_threads() == threads


INDPTR, INDICES = (torch.from_numpy(array) for array in symmetric_graph())
GRAPH = Adjacency.symmetric(INDPTR, INDICES)
X = torch.randn(500, 20, generator=torch.Generator().manual_seed(0))


def network(aggregator: Aggregator, layers: int) -> GraphSage:
    """Return a network on it, the same every time."""
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


@pytest.mark.gpu
@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_inference_goes_where_the_features_are(aggregator: Aggregator) -> None:
    model, cuda = network(aggregator, 2), torch.device("cuda")
    here = infer(model.stack(), X, GRAPH, torch.arange(500))
    there = infer(model.to(cuda).stack(), X.to(cuda), GRAPH.to(cuda), torch.arange(500).to(cuda))
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-4)
