"""State of a training run, and the best network so far."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from orchestrator import Run
from trainables.precision import Precision

N = TypeVar("N", bound=nn.Module)


@dataclass(eq=False)
class TrainingState(Generic[N]):
    """State of training, and the best of the networks it went through.

    Attributes:
        network: As it is now.
        optimizer: Its moments.
        precision: Its loss scale.
        figures: Figures of the best network so far on the validation split.
        state: Parameters and buffers of that network, on the CPU.
    """

    network: N
    optimizer: torch.optim.Optimizer
    precision: Precision
    figures: dict[str, float] = field(default_factory=dict)
    state: dict[str, Tensor] = field(default_factory=dict)

    def consider(self, figures: dict[str, float]) -> None:
        """Keep the network as it is now, if none before it was more accurate.

        Among equals the later one, which has seen more of the training nodes.

        Args:
            figures: Its figures on the validation split; ``val_acc`` decides.
        """
        if figures.get("val_acc", 0.0) >= self.figures.get("val_acc", 0.0):
            self.figures = figures
            self.state = {k: v.detach().cpu().clone() for k, v in self.network.state_dict().items()}

    def best(self) -> N:
        """The best network so far; another one is in training."""
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
                "best": {"figures": self.figures, "state": self.state},
            }
        )

    def restore(self, run: Run) -> None:
        """Resume from the last checkpoint, if there is one."""
        if (saved := run.restore()) is not None:
            self.network.load_state_dict(saved["network"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.precision.restore(saved["precision"])
            self.figures = dict(saved["best"]["figures"])
            self.state = saved["best"]["state"]
