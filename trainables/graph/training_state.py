"""State of a training run, and the best network so far."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from orchestrator.measurement.run import Run
from trainables.precision import Precision

N = TypeVar("N", bound=nn.Module)


@dataclass(eq=False)
class TrainingState(Generic[N]):
    """State of training, and the best of the networks it went through.

    Attributes:
        network: As it is now.
        optimizer: Its moments.
        precision: Its loss scale.
        val_acc: Validation accuracy of the best network so far.
        state: Parameters and buffers of that network, on the CPU.
    """

    network: N
    optimizer: torch.optim.Optimizer
    precision: Precision
    val_acc: float = -1.0
    state: dict[str, Tensor] = field(default_factory=dict)

    def consider(self, val_acc: float) -> None:
        """Keep the network as it is now, if none before it was better.

        Of equals the later one, which has seen more of the training nodes.
        """
        if val_acc >= self.val_acc:
            self.val_acc = val_acc
            self.state = {k: v.detach().cpu().clone() for k, v in self.network.state_dict().items()}

    def best(self) -> N:
        """The best network, beside the one in training."""
        best = copy.deepcopy(self.network)
        best.load_state_dict(self.state)
        return best

    def keep(self, run: Run) -> None:
        """Write a checkpoint."""
        run.checkpoint(
            {
                "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "precision": self.precision.state(),
                "best": {"val_acc": self.val_acc, "state": self.state},
            }
        )

    def restore(self, run: Run) -> None:
        """Go on from the last checkpoint, if there is one."""
        if (saved := run.restore()) is not None:
            self.network.load_state_dict(saved["network"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.precision.restore(saved["precision"])
            self.val_acc = saved["best"]["val_acc"]
            self.state = saved["best"]["state"]
