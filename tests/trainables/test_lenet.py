from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader

from orchestrator import Machine, Node
from orchestrator.space.configs import canonical, replaced
from tests.conftest import RunCli
from tests.trainables.running import context, train_once
from trainables.data.sets.digits import DIGITS
from trainables.lenet import LeNet, LeNetConfig, TransformedImages, lenet
from trainables.loading import Batched

QUICK = LeNetConfig(batch_size=132, lr=0.05, threads=1, data_path="resident")
"""Ten steps an epoch of digits."""


def machine(gpus: int = 0) -> Machine:
    return Machine(nodes=(Node(name="here", cpus=2, gpus=gpus),))


def quick(**knobs: object) -> LeNetConfig:
    return replaced(QUICK, knobs)


# -- the network and what it learns


def test_it_is_lenet_5_with_3_by_3_kernels() -> None:
    network = LeNet()
    shapes = [tuple(p.shape) for name, p in network.named_parameters() if name.endswith("weight")]
    assert shapes == [(6, 1, 3, 3), (16, 6, 3, 3), (120, 400), (84, 120), (10, 84)]
    assert network(torch.zeros(7, 1, 28, 28)).shape == (7, 10)


def test_it_learns_digits() -> None:
    reports = train_once(lenet, QUICK, context(DIGITS, epochs=12, evaluate_test=True))
    losses = reports.metric("train_loss")
    assert losses[0] > 2.0
    assert losses[-1] < 0.3
    assert reports.metric("val_acc")[-1] > 0.9
    [test_acc] = reports.metric("test_acc")
    assert test_acc > 0.85


# -- data paths


def test_each_data_path_fetches_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(data_path: str) -> tuple[int, int, int]:
        """Images transformed one by one, whole batches indexed, loaders."""
        counts = dict.fromkeys(("transformed", "indexed", "loaders"), 0)

        def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **knobs: Any) -> Any:  # noqa: ANN401 - whatever it is
                counts[name] += 1
                return method(*args, **knobs)

            return call

        with monkeypatch.context() as patch:
            for name, owner, method in (
                ("transformed", TransformedImages, "__getitem__"),
                ("indexed", Batched, "__call__"),
                ("loaders", DataLoader, "__init__"),
            ):
                patch.setattr(owner, method, counted(name, getattr(owner, method)))
            train_once(lenet, quick(data_path=data_path), context(DIGITS, steps=3))
        return counts["transformed"], counts["indexed"], counts["loaders"]

    # A fourth batch is asked for only where batches are fetched ahead.
    assert fetched("per_sample") == (3 * 132, 0, 1)
    assert fetched("batched") == (0, 3, 1)
    assert fetched("resident") == (0, 0, 0)


# -- knobs with an effect inside a step


def inside(config: LeNetConfig, look: Callable[[torch.nn.Module, Any], None]) -> None:
    """Train a step with ``look`` called with each convolution and its output."""
    hook = torch.nn.modules.module.register_module_forward_hook(
        lambda module, _, output: (
            look(module, output) if isinstance(module, torch.nn.Conv2d) else None
        )
    )
    with hook:
        train_once(lenet, config, context(DIGITS, steps=1))


def test_channels_last_keeps_the_channels_of_a_pixel_together() -> None:
    def layouts(config: LeNetConfig) -> set[bool]:
        found: set[bool] = set()
        inside(
            config, lambda _, out: found.add(out.is_contiguous(memory_format=torch.channels_last))
        )
        return found

    assert layouts(QUICK) == {False}
    assert layouts(quick(channels_last=True)) == {True}


# -- parallelism


def test_ranks_are_those_of_ddp() -> None:
    assert canonical(LeNetConfig(ranks=4)) == LeNetConfig()
    demand = lenet.demand(LeNetConfig(parallel="ddp", ranks=2), machine())
    assert (demand.ranks, demand.gpus) == (2, 0)
    demand = lenet.demand(LeNetConfig(parallel="ddp", ranks=2), machine(gpus=2))
    assert (demand.ranks, demand.gpus) == (2, 2)
    demand = lenet.demand(LeNetConfig(parallel="dp"), machine(gpus=2))
    assert (demand.ranks, demand.gpus) == (1, 2)


GPU_SWEEP = """
from orchestrator import Rigor, Sweep
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="Does it run on a GPU?",
    space=LeNetConfig(device="cuda", data_path="resident", lr=0.05),
    epochs=30,
    embedded_data="digits",
    rigor=Rigor(confirm=0),
)
"""


@pytest.mark.gpu
def test_a_trial_on_gpu_is_row_with_gpus_name_and_figures(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "on_gpu.py"
    file.write_text(GPU_SWEEP)
    run_cli(file, "--executor", "inline", "--no-mlflow", "--out", tmp_path / "run")
    rows = pd.read_csv(tmp_path / "run" / "trials.csv")
    row = rows[rows["params.device"] == "cuda"].iloc[0]
    assert row["state"] == "completed", row["reason"]
    assert row["device"] == torch.cuda.get_device_name(0)
    assert row["metrics.peak_gpu_gib"] > 0
    assert row["metrics.samples_per_s"] > 0
