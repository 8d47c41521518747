from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from typing import Literal

import pytest
import torch
from torch.nn.functional import cross_entropy

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.running import ON_TWO_GPUS, Reports
from trainables.loading import BatchOrder
from trainables.parallel import Ranks, joined_ranks
from trainables.precision import Precision


@dataclass(frozen=True)
class OfRank:
    """Figures of one of the ranks that trained together."""

    gradients: list[list[float]]
    shares: list[int]
    total: float
    wrapper: str
    is_still_joined: bool


def trained_as_rank(rank: int, world_size: int, port: int) -> OfRank:
    """Train with the other ranks, in a process of its own."""
    os.environ.update(
        RANK=f"{rank}", WORLD_SIZE=f"{world_size}", MASTER_ADDR="127.0.0.1", MASTER_PORT=f"{port}"
    )
    where = Context(seed=0, budget=Budget(epochs=1), rank=rank, world_size=world_size)
    torch.manual_seed(0)
    inputs, labels, network = torch.randn(5, 3), torch.arange(5) % 2, torch.nn.Linear(3, 2)
    order = BatchOrder(num_samples=5, batch_size=4, seed=0, rank=rank, world_size=world_size)
    gradients, shares = [], []
    with joined_ranks(Run(where, Reports())) as ranks:
        trained = ranks.parallel(network, "ddp")
        for draw in order.epoch(0):  # a batch of 4, then one of 1: rank 1 gets nothing of that
            network.zero_grad()
            scores = trained(inputs[draw.indices])
            summed = cross_entropy(scores, labels[draw.indices], reduction="sum")
            ranks.loss(summed, draw.total).backward()
            assert network.weight.grad is not None
            gradients.append(network.weight.grad.flatten().tolist())
            shares.append(len(draw.indices))
        total = float(ranks.sum(torch.tensor(len(shares) + rank)))
    return OfRank(
        gradients, shares, total, type(trained).__name__, torch.distributed.is_initialized()
    )


def gradients_of_one_process() -> Iterator[torch.Tensor]:
    torch.manual_seed(0)
    inputs, labels, network = torch.randn(5, 3), torch.arange(5) % 2, torch.nn.Linear(3, 2)
    for draw in BatchOrder(num_samples=5, batch_size=4, seed=0).epoch(0):
        network.zero_grad()
        cross_entropy(network(inputs[draw.indices]), labels[draw.indices]).backward()
        assert network.weight.grad is not None
        yield network.weight.grad.flatten()


def test_ranks_have_the_gradient_of_the_whole_batch_however_it_is_shared(
    fork_server: ForkServerContext,
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with ProcessPoolExecutor(2, mp_context=fork_server) as pool:
        ranks = list(pool.map(trained_as_rank, (0, 1), (2, 2), (port, port)))
    expected = torch.stack(list(gradients_of_one_process()))
    assert [rank.shares for rank in ranks] == [[2, 1], [2, 0]]
    for rank in ranks:
        assert torch.allclose(torch.tensor(rank.gradients), expected, atol=1e-6)
        assert rank.total == 2 + 3
        assert rank.wrapper == "DistributedDataParallel"
        assert not rank.is_still_joined


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
    """A thread of DataParallel does the same, with the type that it falls back to on GPUs."""
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
