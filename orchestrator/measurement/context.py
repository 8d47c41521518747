"""What a trial's process is told about its place in the sweep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.data import PreparedData
from orchestrator.trial import Budget


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a trial's process is told about its place in the sweep.

    Attributes:
        seed: Seed of every random choice in the trial.
        budget: How long to train.
        device: ``cpu``, ``cuda:0``, ...: where this rank trains.
        num_cores: Cores of the trial's rank.
        num_workers: Loader processes of this rank; sets the length of a loader's burst.
        burst: Steps after which the loader's pattern repeats.
        rank: Index of this rank.
        world_size: Number of ranks.
        data: The prepared data set, or None for a trainable without one.
        evaluate_test: Whether the test split may be looked at.
        checkpoint_dir: Where checkpoints are kept, or None for nowhere.
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
