"""A trial's place in the sweep, its channel to the driver, and its checkpoint.

A checkpoint is one file, replaced as a whole, with the state of the random numbers.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from orchestrator.data import PreparedData
from orchestrator.trial import Budget, Report, Stage

_CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True, kw_only=True)
class Context:
    """Place of one rank of a trial in the sweep.

    Attributes:
        seed: Seed of every random choice in the trial.
        budget: Length of the training.
        device: Device of this rank: ``cpu``, ``cuda:0``, ...
        num_cores: Cores of the trial's rank.
        num_workers: Loader processes of this rank; sets the length of a loader's burst.
        burst: Steps after which the loader's pattern repeats.
        rank: Index of this rank.
        world_size: Number of ranks.
        data: The prepared data set, or None for a trainable without one.
        evaluate_test: True where the test split may be looked at.
        checkpoint_dir: Folder of checkpoints, or None for none.
        folder: Folder for other files of the trial, made when it is first asked for; or None.
        stage: Purpose of the trial. One for speed alone has a fingerprint.
        trial_id: Id of the trial in the tables; empty outside of a sweep.
    """

    seed: int
    budget: Budget
    device: str = "cpu"
    num_cores: int = 1
    num_workers: int = 0
    burst: int = 1
    rank: int = 0
    world_size: int = 1
    data: PreparedData | None = None
    evaluate_test: bool = False
    checkpoint_dir: Path | None = None
    folder: Path | None = None
    stage: Stage = Stage.TRAIN
    trial_id: str = ""


class TrialStopped(BaseException):
    """Exit of a trial that is to end here, raised by ``Run.report``.

    No ``Exception``, so that a loop which survives errors does not survive this.
    """


class Channel(Protocol):
    """Destination of a trial's reports."""

    def report(self, report: Report) -> bool:
        """Send a report; return True if the trial is to stop."""


def save_checkpoint(folder: Path, progress: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write a checkpoint under ``folder``; the one before it is there until it is written.

    Args:
        folder: Where it is written.
        progress: Counts and times so far.
        state: What the trainable keeps.
    """
    path = folder / _CHECKPOINT
    unfinished = path.with_suffix(".tmp")
    content = {"progress": dict(progress), "state": state, "random": random_state()}
    torch.save(content, unfinished)
    unfinished.replace(path)


def load_checkpoint(folder: Path) -> dict[str, Any] | None:
    """Return ``progress``, ``state`` and ``random`` of the checkpoint under ``folder``, or None.

    Only tensors and plain values are read, never code.

    Raises:
        pickle.UnpicklingError: The file has other content.
    """
    path = folder / _CHECKPOINT
    if not path.exists():
        return None
    saved: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return saved


def save_weights(folder: Path, path: Path, about: Mapping[str, Any]) -> None:
    """Write the training state of the checkpoint under ``folder``, for others to load.

    Args:
        folder: Folder with a checkpoint.
        path: File to write: ``state``, as the trainable keeps it, and ``epochs``.
        about: What else to write: plain values.
    """
    saved = torch.load(folder / _CHECKPOINT, weights_only=True, map_location="cpu")
    epochs = saved["progress"]["epochs"]
    with path.open("wb") as file:  # by its name torch raises no OSError
        torch.save({"state": saved["state"], "epochs": epochs, **about}, file)


def random_state() -> dict[str, Any]:
    """Return the state of Python's, numpy's and torch's generators: tensors and plain values."""
    name, keys, *rest = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (str(name), np.asarray(keys).tolist(), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
    }


def set_random_state(state: Mapping[str, Any]) -> None:
    """Continue from a state of :func:`random_state`."""
    random.setstate(state["python"])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
