from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.conftest import ROOT
from tests.trainables.running import ON_TWO_GPUS
from trainables.loading import BatchOrder
from trainables.parallel import Ranks
from trainables.precision import Precision

RANK = """
import json, os, sys
import torch
from torch.nn import Linear
from torch.nn.functional import cross_entropy
from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from trainables.loading import BatchOrder
from trainables.parallel import joined_ranks

rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
run = Run(Context(seed=0, budget=Budget(epochs=1), rank=rank, world_size=world_size), None)
torch.manual_seed(0)
inputs, labels, network = torch.randn(5, 3), torch.arange(5) % 2, Linear(3, 2)
order = BatchOrder(num_samples=5, batch_size=4, seed=0, rank=rank, world_size=world_size)
gradients, shares = [], []
with joined_ranks(run) as ranks:
    trained = ranks.parallel(network, "ddp")
    for draw in order.epoch(0):  # a batch of 4, then one of 1: rank 1 gets nothing of that
        network.zero_grad()
        scores = trained(inputs[draw.indices])
        summed = cross_entropy(scores, labels[draw.indices], reduction="sum")
        ranks.loss(summed, draw.total).backward()
        gradients.append(network.weight.grad.flatten().tolist())
        shares.append(len(draw.indices))
    total = ranks.sum(torch.tensor(len(shares) + rank)).item()
initialized = torch.distributed.is_initialized()
sys.stdout.write(json.dumps([gradients, shares, total, type(trained).__name__, initialized]))
"""


def start(rank: int, world_size: int, port: int) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    return subprocess.Popen(
        [sys.executable, "-c", RANK], env=environment, stdout=subprocess.PIPE, text=True
    )


def gradients_of_one_process() -> Iterator[torch.Tensor]:
    torch.manual_seed(0)
    inputs, labels, network = torch.randn(5, 3), torch.arange(5) % 2, torch.nn.Linear(3, 2)
    for draw in BatchOrder(num_samples=5, batch_size=4, seed=0).epoch(0):
        network.zero_grad()
        cross_entropy(network(inputs[draw.indices]), labels[draw.indices]).backward()
        assert network.weight.grad is not None
        yield network.weight.grad.flatten()


def test_ranks_have_the_gradient_of_the_whole_batch_however_it_is_shared() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = [start(rank, 2, port) for rank in range(2)]
    expected = torch.stack(list(gradients_of_one_process()))
    outputs = [process.communicate(timeout=100)[0] for process in processes]
    ranks = [json.loads(output) for output in outputs]
    assert [rank[1] for rank in ranks] == [[2, 1], [2, 0]]
    for gradients, _, total, wrapper, still_joined in ranks:
        assert torch.allclose(torch.tensor(gradients), expected, atol=1e-6)
        assert total == 2 + 3
        assert wrapper == "DistributedDataParallel"
        assert not still_joined


def test_a_rank_alone_needs_no_process_group() -> None:
    ranks = Ranks(index=0, count=1, device=torch.device("cpu"))
    network = torch.nn.Linear(1, 1)
    assert ranks.parallel(network, "none") is network
    assert float(ranks.sum(torch.tensor(3.0))) == 3.0
    assert float(ranks.loss(torch.tensor(6.0), 4)) == 1.5


def test_dp_wraps_the_network_and_computes_the_same() -> None:
    ranks = Ranks(index=0, count=1, device=torch.device("cpu"))
    network = torch.nn.Linear(3, 2)
    trained = ranks.parallel(network, "dp")
    assert isinstance(trained, torch.nn.DataParallel)
    assert torch.equal(trained(torch.ones(4, 3)), network(torch.ones(4, 3)))


@pytest.mark.parametrize(("amp", "dtype"), [("off", torch.float32), ("bf16", torch.bfloat16)])
def test_dp_s_threads_compute_in_the_type_asked_for(
    amp: Literal["off", "bf16"], dtype: torch.dtype
) -> None:
    """What a thread of DataParallel does, with the type that it falls back to on GPUs."""
    ranks = Ranks(index=0, count=1, device=torch.device("cpu"))
    network = torch.nn.Linear(3, 2)
    precision = Precision(amp, ranks.device)
    trained = ranks.parallel(network, "dp", precision.autocast)
    assert isinstance(trained, torch.nn.DataParallel)

    def forward() -> torch.dtype:
        with torch.autocast("cpu", dtype=torch.float16, enabled=amp != "off"):
            found: torch.dtype = trained.module(torch.ones(4, 3)).dtype
            return found

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(forward).result() == dtype


@pytest.mark.parametrize(
    "amp", [pytest.param(amp, marks=ON_TWO_GPUS) for amp in ("off", "bf16", "fp16")]
)
def test_dp_scatters_batches_and_has_the_gradient_of_one_device(
    amp: Literal["off", "bf16", "fp16"],
) -> None:
    device = torch.device("cuda:0")
    ranks = Ranks(index=0, count=1, device=device)
    network = torch.nn.Linear(3, 2).to(device)
    precision = Precision(amp, device)
    trained = ranks.parallel(network, "dp", precision.autocast)
    seen: list[tuple[int | None, int, torch.dtype]] = []

    def note(_: torch.nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        seen.append((output.device.index, len(inputs[0]), output.dtype))

    inputs = torch.randn(4, 3, device=device)
    with network.register_forward_hook(note), precision.autocast():
        trained(inputs).float().sum().backward()
    dtype = {"off": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[amp]
    assert sorted(seen) == [(0, 2, dtype), (1, 2, dtype)]
    assert network.weight.grad is not None
    expected = inputs.sum(0).expand(2, 3)
    assert torch.allclose(network.weight.grad, expected, rtol=0.05, atol=0.05)
