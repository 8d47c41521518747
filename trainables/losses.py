"""The training loss of an epoch, kept on the device until the epoch has ended."""

from __future__ import annotations

import math
import sys

import torch

from trainables.parallel import Ranks


class EpochLoss:
    """Mean loss over an epoch's samples, on all ranks.

    Reading a loss makes the host wait for the device, so it is done once an epoch, or every
    so many steps where the config asks for it.

    Args:
        ranks: Who trains together.
        log_every: Steps from one read-back to the next, each a line of output; 0: none.
    """

    def __init__(self, ranks: Ranks, log_every: int) -> None:
        self._ranks = ranks
        self._log_every = log_every
        self._sum = torch.zeros((), dtype=torch.float64, device=ranks.device)
        self._samples = 0
        self._steps = 0

    def add(self, summed: torch.Tensor, samples: int) -> None:
        """Counts a step.

        Args:
            summed: Sum of the losses of this rank's share of the batch.
            samples: Their number.
        """
        self._sum += summed.detach()
        self._samples += samples
        self._steps += 1
        if self._log_every and self._steps % self._log_every == 0:
            loss = summed.item() / max(samples, 1)
            sys.stdout.write(f"step {self._steps} of the epoch: loss {loss:.6f}\n")

    def mean(self, epoch: int) -> float:
        """The epoch's mean; every rank must call it, and counting starts anew.

        Raises:
            FloatingPointError: It is not a number, or infinite: training has diverged.
        """
        samples = torch.tensor(self._samples, dtype=torch.float64, device=self._ranks.device)
        total, count = self._ranks.sum(torch.stack([self._sum, samples])).tolist()
        self._sum.zero_()
        self._samples = self._steps = 0
        loss = total / count if count else math.nan
        if not math.isfinite(loss):
            raise FloatingPointError(f"diverged: the training loss is {loss} at epoch {epoch + 1}")
        return loss
