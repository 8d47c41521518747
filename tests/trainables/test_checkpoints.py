from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.running import Reports
from trainables.checkpoints import Progress
from trainables.precision import Precision


def progress(device: str = "cpu") -> Progress:
    network = nn.Embedding(3, 2).to(device)
    optimizer = torch.optim.Adam(network.parameters(), 0.1, fused=True)
    return Progress(
        network=network, optimizer=optimizer, precision=Precision("off", torch.device(device))
    )


def stepped(there: Progress, device: str = "cpu") -> torch.Tensor:
    assert isinstance(there.network, nn.Embedding)
    assert isinstance(there.optimizer, torch.optim.Optimizer)
    there.network(torch.arange(2, device=device)).sum().backward()
    there.optimizer.step()
    there.optimizer.zero_grad()
    return there.network.weight.detach().clone()


def run(tmp_path: Path, device: str) -> Run:
    where = Context(seed=0, budget=Budget(epochs=1), device=device, checkpoint_dir=tmp_path)
    return Run(where, Reports())


def test_tables_on_the_cpu_are_restored_without_the_run_s_own_device(tmp_path: Path) -> None:
    """A device that can hold no values stands in for a GPU with too little memory."""
    there, again = progress(), progress()
    stepped(there)
    there.keep(run(tmp_path, "meta"))
    again.restore(run(tmp_path, "meta"))
    assert torch.equal(stepped(again), stepped(there))


@pytest.mark.gpu
def test_what_is_on_the_gpu_is_restored_there(tmp_path: Path) -> None:
    there, again = progress("cuda:0"), progress("cuda:0")
    stepped(there, "cuda:0")
    there.keep(run(tmp_path, "cuda:0"))
    again.restore(run(tmp_path, "cuda:0"))
    assert torch.equal(stepped(again, "cuda:0"), stepped(there, "cuda:0"))
