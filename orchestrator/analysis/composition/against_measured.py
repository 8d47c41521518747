"""Composed figures beside those of confirm runs, which select nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from orchestrator.analysis.columns import metrics_of, params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.times import WALL
from orchestrator.analysis.statistics.by_config import are_evaluated
from orchestrator.trial import Stage, TrialState

TRAIN_S = "metrics.train_s"


def against_measured(
    configs: pd.DataFrame, confirmed: pd.DataFrame, rows: pd.DataFrame, figures: Sequence[str]
) -> pd.DataFrame:
    """Return one row a confirmed config: each figure as it was composed, and as it was measured.

    Args:
        configs: From :func:`~orchestrator.analysis.composition.compose.compose`.
        confirmed: The configs of the confirm stage, one row each.
        rows: The trials of all stages.
        figures: Columns to compare; the times of a whole training and of a whole trial are added.

    Returns:
        The ``params.`` columns, and for each figure its column with ``_composed`` and
        ``_measured``. NaN where no confirm run has it: short ones have a speed alone.
    """
    keys = [*params_of(configs), GROUP]
    compared = list(dict.fromkeys([*figures, TRAIN_S, WALL]))
    measured = confirmed.merge(_walls(rows, keys), on=keys, how="left")
    known = [name for name in compared if name in configs and name in measured]
    both = configs[[*keys, *known]].merge(
        measured[[*keys, *known]], on=keys, suffixes=("_composed", "_measured")
    )
    ends = [f"{name}_{end}" for name in known for end in ("composed", "measured")]
    return both[[*params_of(configs), *ends]]


def _walls(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the mean time of whole trials to confirm, by config; of speed alone they are not."""
    done = rows[(rows["state"] == TrialState.COMPLETED) & (rows["stage"] == Stage.CONFIRM)]
    whole = are_evaluated(done, rows)
    tested = [name for name in metrics_of(done) if name.startswith("metrics.test_")]
    whole &= done[tested].isna().all(axis=1)
    walls = done[whole].groupby(keys, dropna=False)[WALL].mean()
    return walls.reset_index()


def errors(compared: pd.DataFrame, figure: str) -> pd.Series[float]:
    """Return the composed figure over the measured one, less 1, of the configs that have both.

    Args:
        compared: From :func:`against_measured`.
        figure: Its column.
    """
    ends = [f"{figure}_{end}" for end in ("composed", "measured")]
    if not set(ends) <= set(compared.columns):
        return pd.Series(dtype="float64")
    composed, measured = (compared[end].astype("float64") for end in ends)
    return (composed / measured - 1).dropna()
