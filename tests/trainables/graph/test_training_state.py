from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.running import Reports
from trainables.graph.training_state import TrainingState
from trainables.precision import Precision


def new_state() -> TrainingState[nn.Linear]:
    network = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(network.parameters(), 0.1)
    return TrainingState(network, optimizer, Precision("off", torch.device("cpu")))


def step(there: TrainingState[nn.Linear]) -> torch.Tensor:
    there.network(torch.ones(1, 2)).sum().backward()
    there.optimizer.step()
    there.optimizer.zero_grad()
    return there.network.weight.detach().clone()


def test_the_best_is_kept_and_of_equals_the_later() -> None:
    there, weights = new_state(), []
    for val_acc in (0.5, 0.7, 0.7, 0.6):
        weights.append(step(there))
        there.consider({"val_acc": val_acc, "val_loss": -val_acc})
    assert there.figures == {"val_acc": 0.7, "val_loss": -0.7}
    assert torch.equal(there.best().weight, weights[2])
    assert torch.equal(there.network.weight, weights[3])


def test_the_best_outlives_the_process(tmp_path: Path) -> None:
    def run() -> Run:
        where = Context(seed=0, budget=Budget(epochs=1), checkpoint_dir=tmp_path)
        return Run(where, Reports())

    there = new_state()
    best = step(there)
    there.consider({"val_acc": 0.9})
    step(there)
    there.consider({"val_acc": 0.8})
    there.keep(run())
    again = new_state()
    again.restore(run())
    assert again.figures == {"val_acc": 0.9}
    assert torch.equal(again.best().weight, best)
    assert torch.equal(step(again), step(there))
