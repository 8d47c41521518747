"""Training as one of several ranks, with the imports that it needs and no more."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch.nn.functional import cross_entropy

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.running import Reports
from trainables.loading import BatchOrder
from trainables.parallel import joined_ranks


@dataclass(frozen=True)
class OfRank:
    """Figures of one of the ranks that trained together."""

    gradients: list[list[float]]
    shares: list[int]
    total: float
    wrapper: str
    is_still_joined: bool
    longest_wait: timedelta


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
        group = torch.distributed.distributed_c10d._get_default_group()
        longest_wait = group._get_backend(torch.device("cpu")).options._timeout
    is_joined = torch.distributed.is_initialized()
    return OfRank(gradients, shares, total, type(trained).__name__, is_joined, longest_wait)
