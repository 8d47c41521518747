"""A sweep file with a trainable that must never run."""

from pathlib import Path

SWEEP = """
from orchestrator import Sweep, Trainable, choice, knobs, learning, systems


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    num_workers: int = systems(default=0, ge=0, doc="loader processes")


def train(config, run):
    raise AssertionError("nothing may be started")


SWEEP = Sweep(Trainable(train, Config, name="never"), question="?",
              space=Config(lr=choice(0.1, 0.2)))
"""


def write_never(folder: Path) -> Path:
    """Write ``never.py`` into ``folder``."""
    path = folder / "never.py"
    path.write_text(SWEEP)
    return path
