"""A sweep file to change: a small trainable with data sets, and its ``SWEEP``."""

from pathlib import Path

import pytest

from orchestrator.errors import SweepError
from orchestrator.sweep.loading import load_sweep

HEADER = """\
from typing import Literal

from orchestrator import (
    NODE, Isolation, Published, Rigor, Sweep, Trainable, both, choice, integers, knobs, learning,
    loguniform, maximize, minimize, requires, systems, uniform,
)
from orchestrator.search import Grid, Optuna, Random
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.mnist import MNIST


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch: int = systems(default=2, ge=1, doc="ahead", applies=lambda c: c.workers > 0)
    amp: Literal["off", "bf16"] = both(default="off", doc="precision")


def train(config: Config, run) -> None:
    ...  # never called: these sweeps are loaded and planned, not run


TRAINABLE = Trainable(train, Config, data=[MNIST, DIGITS], reports=[maximize("val_acc")])
"""

GOOD = """\
SWEEP = Sweep(
    TRAINABLE,
    question="How many workers?",
    space=Config(workers=choice(0, 3), lr=loguniform(0.01, 1)),
    epochs=2,
    embedded_data="digits",
)
"""


def written(
    folder: Path, tail: str = GOOD, name: str = "my_sweep.py", header: str = HEADER
) -> Path:
    """Write a sweep file in ``folder``, with ``tail`` after the trainable."""
    path = folder / name
    path.write_text(header + tail)
    return path


def refusal(path: Path) -> SweepError:
    """Return the refusal of a sweep file."""
    with pytest.raises(SweepError) as refused:
        load_sweep(path)
    return refused.value


def line_of(path: Path, text: str) -> int:
    """Return the number of the first line of ``path`` that has ``text`` in it."""
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def line_of_last(path: Path, text: str) -> int:
    """Return the number of the last line of ``path`` that has ``text`` in it."""
    lines = path.read_text().splitlines()
    return max(number for number, line in enumerate(lines, 1) if text in line)
