"""The parts of a run's time that it spends once, and once an epoch."""

from typing import Final

import pandas as pd

from orchestrator.analysis.columns import numbers_of, texts_of

SETUP, WARM_UP = "setup_s", "warm_up_s"
START_S: Final = "metrics.epoch_start_s"
WALL: Final = "wall_s"
FEW_EPOCHS: Final = 2
"""Epochs of which the median is not yet that of steady ones."""


def one_offs(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds that each trial takes once, by its id: ``setup_s`` and ``warm_up_s``.

    The set-up is spent outside of training and evaluation. The warm-up, a compilation for one, is
    what the first epoch takes more than the median one; of few epochs, what steady steps and the
    starts of epochs leave of the training. A trial that continued a paused curve has neither.
    """
    names = ("train_s", "eval_s", "epochs", "steps", "step_ms", "first_epoch_s", "epoch_s")
    train_s, eval_s, epochs, steps, step_ms, first_s, epoch_s = (
        numbers_of(trials, f"metrics.{name}") for name in names
    )
    left_s = train_s - epochs * epoch_starts(trials) - steps * step_ms / 1000
    parts = {
        SETUP: numbers_of(trials, WALL) - train_s - eval_s.fillna(0.0),
        WARM_UP: (first_s - epoch_s).where(epochs > FEW_EPOCHS).fillna(left_s),
    }
    is_first = numbers_of(trials, "metrics.earlier_epochs").isna()
    known = pd.DataFrame(parts).clip(lower=0.0).where(is_first)
    return known.set_axis(trials["trial_id"])


def epoch_starts(rows: pd.DataFrame) -> "pd.Series[float]":
    """Return the start of an epoch that comes on top of samples over speed.

    Nothing where epochs are too short for a steady state: the rate has the start in it then.
    """
    starts = numbers_of(rows, START_S).fillna(0.0)
    return starts.mask(texts_of(rows, "tags.rate") == "epochs", 0.0)
