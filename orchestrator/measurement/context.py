"""Context of a run: its place in the sweep, and the channel of its reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


class TrialStopped(BaseException):
    """Exit of a trial that is to end here, raised by ``Run.report``.

    No ``Exception``, so that a loop which survives errors does not survive this.
    """


class Channel(Protocol):
    """Destination of a trial's reports."""

    def report(self, report: Report) -> bool:
        """Hand on a report; return True if the trial is to stop."""
