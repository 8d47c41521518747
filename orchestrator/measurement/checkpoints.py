"""A trial's checkpoint: one file, replaced as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

_NAME = "checkpoint.pt"


@dataclass(frozen=True)
class Progress:
    """How far a trial was when it kept a checkpoint.

    Attributes:
        epochs: Epochs trained.
        steps: Optimizer steps taken.
        samples: Samples trained on, over all ranks.
    """

    epochs: int
    steps: int
    samples: int


def save_checkpoint(folder: Path, progress: Progress, state: Mapping[str, Any]) -> None:
    """Keeps ``state`` under ``folder``; the checkpoint before it is there until it is written."""
    path = folder / _NAME
    beside = path.with_suffix(".tmp")
    torch.save({"progress": asdict(progress), "state": state}, beside)
    beside.replace(path)


def load_checkpoint(folder: Path) -> tuple[Progress, Mapping[str, Any]] | None:
    """The checkpoint under ``folder``, or None.

    Only tensors and plain values are read, never code.

    Raises:
        pickle.UnpicklingError: The file holds anything else.
    """
    path = folder / _NAME
    if not path.exists():
        return None
    saved = torch.load(path, weights_only=True, map_location="cpu")
    state: Mapping[str, Any] = saved["state"]
    return Progress(**saved["progress"]), state
