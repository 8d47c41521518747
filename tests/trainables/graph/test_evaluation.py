"""Figures of a network with all neighbours, which leave the network as it was."""

from __future__ import annotations

import pytest
import torch

from tests.trainables.graph.networks import GRAPH, X, network
from trainables.classification import classified
from trainables.graph.evaluation import Evaluation
from trainables.graph.inference import infer

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


def test_the_network_stays_as_it_is_and_cores_as_they_were() -> None:
    model = network("mean", 1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    threads = torch.get_num_threads()
    evaluation = Evaluation(
        features=X, adjacency=GRAPH, labels=torch.zeros(400), num_cores=threads + 1
    )
    with pytest.raises(IndexError):
        evaluation.figures(model, {"val": torch.tensor([499])})
    assert torch.get_num_threads() == threads, "after an error too"
    after = model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not any(parameter.grad is not None for parameter in model.parameters())
