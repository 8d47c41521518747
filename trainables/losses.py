"""The training loss of an epoch, kept on the device until the epoch has ended."""

from __future__ import annotations

import math
import sys
from functools import reduce

import torch

from orchestrator import Run
from trainables.parallel import Ranks

EXPLODED = 100.0
"""Training has diverged where an epoch's mean loss is so many times that of the first step."""


class EpochLoss:
    """Mean loss over an epoch's samples, on all ranks.

    Reading a loss makes the host wait for the device, so it is done once an epoch, or every
    so many steps where the config asks for it. Until then the device itself counts the steps
    up to the first one with a loss that is not finite.

    Args:
        ranks: Ranks that train together.
        run: It receives the loss of the first step, of all ranks.
        log_every: Steps from one read-back to the next, each a line of output, counted over the
            epochs; 0: none.
    """

    def __init__(self, ranks: Ranks, run: Run, log_every: int) -> None:
        self._ranks = ranks
        self._run = run
        self._log_every = log_every
        self._sum = torch.zeros((), dtype=torch.float64, device=ranks.device)
        self._num_finite = torch.zeros((), dtype=torch.int64, device=ranks.device)
        self._first = torch.zeros(2, dtype=torch.float64, device=ranks.device)
        self._samples = 0
        self._parts: list[tuple[torch.Tensor, int]] = []
        self._steps = 0
        self._steps_before = 0
        self._from_the_start = True

    def add(self, summed: torch.Tensor, samples: int) -> None:
        """Count a step.

        Args:
            summed: Sum of the losses of this rank's share of the batch.
            samples: Their number.
        """
        self.add_part(summed, samples)
        self.end_step()

    def add_part(self, summed: torch.Tensor, samples: int) -> None:
        """Count a micro-batch of a step, likewise."""
        self._parts.append((summed.detach(), samples))

    def end_step(self) -> None:
        """Count the step that the micro-batches since the last one were of."""
        losses, counts = zip(*self._parts, strict=True)
        self._parts.clear()
        summed, samples = reduce(torch.add, losses), sum(counts)
        self._sum += summed
        # A sum that is no number stays none: these are the steps before the first such one.
        self._num_finite += self._sum.isfinite()
        self._samples += samples
        self._steps += 1
        step = self._steps_before + self._steps
        if step == 1:
            self._first = torch.stack([self._sum, torch.full_like(self._sum, samples)])
        if self._log_every and step % self._log_every == 0:
            loss = summed.item() / max(samples, 1)
            rank = f"rank {self._ranks.index}, " if self._ranks.count > 1 else ""
            sys.stdout.write(f"{rank}step {step}: loss {loss:.6f}\n")

    def mean(self, epoch: int) -> float:
        """The epoch's mean; every rank must call it, and counting starts anew.

        Raises:
            FloatingPointError: Training has diverged: the loss is not finite, or more than
                :data:`EXPLODED` times that of the first step.
        """
        samples = torch.tensor(self._samples, dtype=torch.float64, device=self._ranks.device)
        sums = torch.stack([self._sum, samples, *self._first])
        total, count, first, first_count = self._ranks.sum(sums).tolist()
        num_finite, steps, before = int(self._num_finite), self._steps, self._steps_before
        self._from_the_start &= before > 0 or epoch == 0
        self._sum.zero_()
        self._num_finite.zero_()
        self._samples = self._steps = 0
        self._steps_before = before + steps
        if not before and first_count:
            self._run.first_loss(first / first_count)
        loss = total / count if count else math.nan
        if not math.isfinite(loss):
            since, last = before + min(num_finite + 1, steps), self._steps_before
            raise FloatingPointError(
                f"the training loss is not finite since step {since} of {last}"
            )
        # After a checkpoint the loss of the first step is no reference.
        if self._from_the_start and loss > EXPLODED * abs(first / first_count):
            raise FloatingPointError(
                f"the training loss has exploded: {loss:.4g} in epoch {epoch + 1}, more than "
                f"{EXPLODED:g} times the {first / first_count:.4g} of the first step"
            )
        return loss
