"""Data parallelism, once for all trainables: one process, DataParallel, or a process a shard.

The executor or torchrun starts the ranks, and sets the environment (``MASTER_ADDR``,
``MASTER_PORT``) through which they find the process group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import nn

from orchestrator import Run

Parallel = Literal["none", "dp", "ddp"]

LONGEST_WAIT = timedelta(days=7)
"""Limit of one collective operation. Rank 0 evaluates alone while the others wait in the next one,
for longer than nccl's ten minutes if the set is large. If a rank dies, the process that started
the others ends them; a trial that hangs ends by its own time limit."""


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """The ranks that train together, seen from one of them.

    Attributes:
        index: This rank.
        count: Number of ranks; with one, nothing is sent.
        device: Device of this rank.
    """

    index: int
    count: int
    device: torch.device

    @classmethod
    def of(cls, run: Run) -> Ranks:
        """The ranks of a run."""
        return cls(index=run.rank, count=run.world_size, device=run.device)

    def parallel(
        self,
        network: nn.Module,
        parallel: Parallel,
        autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> nn.Module:
        """``network``, wrapped so that a backward pass leaves the mean gradient of all ranks.

        Call it once the network is on its device. With ``dp`` this one process scatters
        every batch over all GPUs that it sees.

        Args:
            network: The network to train.
            parallel: How.
            autocast: ``Precision.autocast``, for the threads of ``dp``; others enter it
                around the call.
        """
        if parallel == "dp":
            return nn.DataParallel(_Autocast(network, autocast))
        if self.count == 1:
            return network
        devices = [self.device] if self.device.type == "cuda" else None
        # Gradients as views of the buckets that are sent: one copy less, and its memory.
        return nn.parallel.DistributedDataParallel(
            network, device_ids=devices, gradient_as_bucket_view=True
        )

    def exchange_gradients(self, trained: nn.Module, now: bool) -> None:
        """Exchange the gradients of the next backward pass, or add them up on each rank for later.

        Args:
            trained: The result of :meth:`parallel`.
            now: True for the last micro-batch of a step.
        """
        if isinstance(trained, nn.parallel.DistributedDataParallel):
            trained.require_backward_grad_sync = now  # as its no_sync() does

    def loss(self, summed: torch.Tensor, total: int) -> torch.Tensor:
        """Return the loss with a mean over ranks that is the mean over the whole batch.

        Shares differ by one sample where a batch does not divide evenly, and may be empty:
        a mean of each rank's means would weigh samples unequally.

        Args:
            summed: Sum of the losses of this rank's share.
            total: Samples of the whole batch, over all ranks.
        """
        return summed * (self.count / total)

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """The element-wise sum of every rank's ``values``; all ranks must call it."""
        if self.count > 1:
            dist.all_reduce(values)
        return values


class _Autocast(nn.Module):
    """A network that enters autocast itself, since the type that it casts to is a thread's own.

    DataParallel's threads receive only that there is an autocast, not its type.
    """

    def __init__(
        self, network: nn.Module, autocast: Callable[[], AbstractContextManager[Any]]
    ) -> None:
        super().__init__()
        self.network = network
        self._autocast = autocast

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the network's outputs for ``inputs``."""
        with self._autocast():
            outputs: torch.Tensor = self.network(inputs)
        return outputs


@contextmanager
def joined_ranks(run: Run, *, gloo: bool = False) -> Iterator[Ranks]:
    """The ranks of a trial, in a process group while the context lasts.

    gloo on CPUs, nccl on GPUs. One rank alone needs neither.

    Args:
        run: One rank of the trial.
        gloo: Use gloo on GPUs too: what nccl cannot add up is sparse gradients, and tensors
            in host memory.
    """
    ranks = Ranks.of(run)
    if ranks.count == 1:
        yield ranks
        return
    if os.environ.get("MASTER_ADDR") == "127.0.0.1":
        # gloo would look up the host's own name, which need not resolve.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    on_gpu = ranks.device.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(ranks.device)
    nccl = on_gpu and not gloo
    dist.init_process_group(
        "nccl" if nccl else "gloo",
        rank=ranks.index,
        world_size=ranks.count,
        timeout=LONGEST_WAIT,
        # With its device named, nccl connects here and not within the first step.
        device_id=ranks.device if nccl else None,
    )
    try:
        yield ranks
        dist.barrier()  # a rank that leaves early would take the others' connections along
    finally:
        dist.destroy_process_group()
