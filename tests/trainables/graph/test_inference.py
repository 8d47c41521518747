from __future__ import annotations

import pytest
import torch

from tests.trainables.graph.networks import GRAPH, X, network
from trainables.graph import inference
from trainables.graph.inference import infer
from trainables.graph.messages import Aggregator
from trainables.graph.minibatch import Rows


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
