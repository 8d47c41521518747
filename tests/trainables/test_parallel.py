from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import torch
from torch.nn.functional import cross_entropy

from tests.conftest import ROOT
from trainables.loading import BatchOrder
from trainables.parallel import Ranks

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


def test_dp_scatters_batches_from_one_process() -> None:
    ranks = Ranks(index=0, count=1, device=torch.device("cpu"))
    network = torch.nn.Linear(3, 2)
    trained = ranks.parallel(network, "dp")
    assert isinstance(trained, torch.nn.DataParallel)
    assert torch.equal(trained(torch.ones(4, 3)), network(torch.ones(4, 3)))
