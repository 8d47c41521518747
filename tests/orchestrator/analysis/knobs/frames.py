"""Tables of configs by hand: knobs, a speed and an accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.comparable import ALL
from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.knobs.of_run import figures_in

SPEED, ACCURACY = "samples_per_s", "val_acc"


def frame(
    rows: Sequence[Mapping[str, Any]], speeds: Sequence[float], **cells: object
) -> pd.DataFrame:
    """Return a table of configs with their speeds; ``cells`` are further columns."""
    unknown = {"variance": np.nan, "df": np.nan, "contaminated": False, "composed": False}
    params = pd.DataFrame(rows).add_prefix("params.").assign(group=ALL, **{**unknown, **cells})
    return params.assign(**{f"metrics.{SPEED}": np.array(speeds, dtype=float)})


def figures(table: pd.DataFrame, metric: str = SPEED, **baseline: object) -> list[Figures]:
    """Return a figure of a table, of any group."""
    return figures_in(table, metric, baseline=baseline)


def drawn(seed: int, *, share: float = 0.8, noise: float = 0.03) -> pd.DataFrame:
    """Return a part of a grid of three knobs with drawn speeds."""
    rng = np.random.default_rng(seed)
    grid = [
        {"workers": w, "batch": b, "amp": a}
        for w in (0, 3, 6)
        for b in (500, 1000)
        for a in ("off", "on")
    ]
    rows = [row for row in grid if rng.random() < share] or grid
    speeds = [
        1000 * (1 + r["workers"]) ** 0.2 * np.exp(noise * rng.standard_normal()) for r in rows
    ]
    return frame(rows, speeds)
