"""Checkpoints, from which a training run resumes after its process has died."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from orchestrator import Run
from trainables.precision import Precision


class Stateful(Protocol):
    """An optimizer, or several of them."""

    def state_dict(self) -> dict[str, Any]:
        """Its momentum and the like: tensors and plain values."""

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """The inverse of :meth:`state_dict`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Progress:
    """Everything that training changes.

    Attributes:
        network: Its parameters and buffers.
        optimizer: Its momentum and the like.
        precision: Its loss scale.
    """

    network: nn.Module
    optimizer: Stateful
    precision: Precision

    def keep(self, run: Run) -> None:
        """Write a checkpoint; after the epoch's report, which would otherwise be lost."""
        run.checkpoint(
            {
                "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "precision": self.precision.state(),
            }
        )

    def restore(self, run: Run) -> None:
        """Resume from the last checkpoint, if there is one."""
        if (saved := run.restore()) is not None:
            self.network.load_state_dict(saved["network"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.precision.restore(saved["precision"])
