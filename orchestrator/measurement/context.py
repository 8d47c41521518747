"""Context of a run: its place in the sweep, and the channel of its reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import torch

from orchestrator.data import PreparedData
from orchestrator.trial import Budget, Report, Stage


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


class Place:
    """Read-only view of a context, for training functions."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def seed(self) -> int:
        """Seed of every random choice in the trial; the same on every rank."""
        return self._context.seed

    @property
    def device(self) -> torch.device:
        """Device on which this rank trains."""
        return torch.device(self._context.device)

    @property
    def num_cores(self) -> int:
        """Cores of this rank, for its threads and its loader workers."""
        return self._context.num_cores

    @property
    def rank(self) -> int:
        """Index of this rank, from 0."""
        return self._context.rank

    @property
    def world_size(self) -> int:
        """Number of ranks that train together."""
        return self._context.world_size

    @property
    def data(self) -> PreparedData:
        """Prepared data set.

        Raises:
            LookupError: The trainable was declared without data.
        """
        if self._context.data is None:
            raise LookupError("this trainable declares no data sets, so its run has no data")
        return self._context.data

    @property
    def trial_id(self) -> str:
        """Id of the trial in the tables; empty outside of a sweep."""
        return self._context.trial_id

    @property
    def evaluate_test(self) -> bool:
        """True where the test split may be looked at: for selected configs only."""
        return self._context.evaluate_test and self.evaluates

    @property
    def evaluates(self) -> bool:
        """True where what is learned is to be evaluated; False for a trial of speed alone."""
        return self._context.budget.evaluated

    @property
    def checkpoint_dir(self) -> Path | None:
        """Folder of what the trial needs to continue if its process dies, or None."""
        return self._context.checkpoint_dir

    @cached_property
    def folder(self) -> Path:
        """Folder for whatever else the trial writes, logs say; removed with the trial."""
        folder = self._context.folder
        if folder is None:
            self._temporary = TemporaryDirectory(prefix="trial-")
            return Path(self._temporary.name)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def budget(self) -> Budget:
        """Length of the training, for a loop that is not driven by :meth:`Run.epochs`."""
        return self._context.budget


class TrialStopped(BaseException):
    """Exit of a trial that is to end here, raised by ``Run.report``.

    No ``Exception``, so that a loop which survives errors does not survive this.
    """


class Channel(Protocol):
    """Destination of a trial's reports."""

    def report(self, report: Report) -> bool:
        """Hand on a report; return True if the trial is to stop."""
