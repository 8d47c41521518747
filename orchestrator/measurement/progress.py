"""A trial's place in the sweep, its progress through its budget, and its checkpoint.

A checkpoint is one file, replaced as a whole, with the state of the random numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
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
        """Hand on a report; return True if the trial is to stop."""


class Progress:
    """Progress of one rank through the trial's budget, up to its pause.

    Attributes:
        epoch: Index of the current epoch.
        restored_epochs: Epochs that this process found done in a checkpoint.
        steps: Optimizer steps taken, those before a restored checkpoint included.
        samples: Samples trained on, over all ranks, likewise.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._end = min(budget.epochs, budget.pause_after or budget.epochs)
        self._num_epochs = 0
        self._max_steps = math.inf if budget.steps is None else budget.steps
        self.epoch = 0
        self.restored_epochs = 0
        self.steps = 0
        self.samples = 0

    def epochs(self) -> Iterator[int]:
        """Yield the index of each epoch that is left; count an epoch when the next is asked for."""
        while self._num_epochs < self._end and not self.is_out_of_steps():
            self.epoch = self._num_epochs
            yield self.epoch
            self._num_epochs += 1

    def count_epoch(self) -> None:
        """Count an epoch of a loop that is not driven by :meth:`epochs`."""
        self.epoch = self._num_epochs
        self._num_epochs += 1

    def count_step(self, num_samples: int) -> None:
        """Count a step."""
        self.steps += 1
        self.samples += num_samples

    def is_out_of_steps(self) -> bool:
        """Return True if no further step may be taken."""
        return self.steps >= self._max_steps

    def end_here(self) -> None:
        """Make the steps taken so far the whole budget."""
        self._max_steps = self.steps

    @property
    def is_last_epoch(self) -> bool:
        """True where no epoch follows the current one in this trial."""
        return self.is_out_of_steps() or self.epoch + 1 >= self._end

    @property
    def may_pause(self) -> bool:
        """True where the trial pauses before its budget ends, if nothing else ends it."""
        return self._end < self._budget.epochs

    @property
    def is_paused(self) -> bool:
        """True where the trial has ended before its budget has, with more to train later."""
        return self.may_pause and self._num_epochs >= self._end and not self.is_out_of_steps()

    @property
    def pause_reason(self) -> str:
        """Reason of a trial that is paused."""
        return f"paused after {self._num_epochs} of {self._budget.epochs} epochs"

    def fraction(self, of_epoch: float) -> float:
        """Return the finished fraction of the budget, with this one of the current epoch."""
        by_epochs = (self._num_epochs + of_epoch) / self._end
        return max(by_epochs, self.steps / self._max_steps if self._max_steps else 1.0)

    def restore(self, num_epochs: int, steps: int = 0, samples: int = 0) -> None:
        """Continue after so many epochs, steps and samples of a process before this one."""
        self.steps, self.samples = steps, samples
        self._num_epochs = self.restored_epochs = num_epochs
        self.epoch = max(num_epochs - 1, 0)  # where none is left, the last one is the current one


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
        pickle.UnpicklingError: The file holds anything else.
    """
    path = folder / _CHECKPOINT
    if not path.exists():
        return None
    saved: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return saved


def save_weights(folder: Path, path: Path, about: Mapping[str, Any]) -> None:
    """Write what the checkpoint under ``folder`` holds of the training, for others to load.

    Args:
        folder: Holds a checkpoint.
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
    """Go on from a state of :func:`random_state`."""
    random.setstate(state["python"])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
