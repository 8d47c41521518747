"""Runs for the loops of other frameworks, and the data that they are trained on."""

from pathlib import Path

import torch
from torch import Tensor

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget, Stage
from tests.trainables.running import Reports

NUM_TRAINING, NUM_VALIDATION = 20, 8
NUM_FEATURES = 4


def make_run(
    folder: Path,
    *,
    epochs: int = 2,
    steps: int | None = None,
    pause_after: int | None = None,
    evaluated: bool = True,
    stop_after: int | None = None,
    seed: int = 0,
    world_size: int = 1,
    stage: Stage = Stage.TRAIN,
) -> tuple[Run, Reports]:
    """Return a run with files in ``folder / "trial"``, and what it reports to."""
    reports = Reports(stop_after)
    budget = Budget(epochs=epochs, steps=steps, pause_after=pause_after, evaluated=evaluated)
    where = Context(
        seed=seed, budget=budget, folder=folder / "trial", world_size=world_size, stage=stage
    )
    return Run(where, reports), reports


def examples(count: int) -> list[dict[str, Tensor]]:
    """Return examples of two separable classes."""
    drawn = torch.Generator().manual_seed(count)
    labels = torch.arange(count) % 2
    rows = torch.randn(count, NUM_FEATURES, generator=drawn) + 2 * labels[:, None]
    return [{"rows": row, "labels": label} for row, label in zip(rows, labels, strict=True)]
