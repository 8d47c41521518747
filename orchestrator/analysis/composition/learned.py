"""The accuracy of each learning combination, from the ends of its curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import metrics_of
from orchestrator.analysis.composition.keys import COMBINATION
from orchestrator.analysis.statistics.curves import last_of_curves
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.metrics import is_learned
from orchestrator.trial import Stage, TrialState

_REACHED: Final = "metrics.time_to_accuracy_s"


def curve_ends(trials: pd.DataFrame, state: TrialState, *, to_target: bool) -> pd.DataFrame:
    """Return the last row of each curve of stage ``train`` that ended in ``state``.

    Of stopped ones only those of combinations of which no curve was trained in full.

    Args:
        trials: From :func:`~orchestrator.analysis.composition.keys.with_keys`.
        state: ``completed`` or ``stopped``.
        to_target: True where a curve that has reached the target is trained in full.
    """
    of_stage = trials[trials["stage"] == Stage.TRAIN]
    ended = of_stage[of_stage["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    ends = ended[last_of_curves(ended)]
    completed = ends["state"] == TrialState.COMPLETED
    if to_target and _REACHED in ends.columns:
        completed |= ends[_REACHED].notna()
    if state is TrialState.COMPLETED:
        return ends[completed]
    return ends[~ends[COMBINATION].isin(ends.loc[completed, COMBINATION])]


def learned_of(ends: pd.DataFrame, objectives: Sequence[str]) -> pd.DataFrame:
    """Return one row a combination, by its number: means over its seeds.

    Columns: every figure of what was learned; ``_low`` and ``_high`` of the objectives among them,
    a t interval for the mean with the spread between seeds pooled over all combinations that were
    trained with several, NaN where none was; ``num_all_runs``, its curves, and their
    ``curve_ids``.

    Args:
        ends: From :func:`curve_ends`.
        objectives: Metrics that get an interval.
    """
    columns = [name for name in metrics_of(ends) if is_learned(name.removeprefix("metrics."))]
    of_seed = ends.groupby([COMBINATION, "seed"], sort=False, dropna=False)[columns].mean()
    of_combination = of_seed.groupby(level=COMBINATION, sort=False)
    means, counts = of_combination.mean(), of_combination.count()
    wanted = {f"metrics.{name}" for name in objectives}
    bounded = [name for name in columns if name in wanted]
    half = _half_widths(of_combination[bounded].var(), counts[bounded])
    ids = ends.groupby(COMBINATION, sort=False)["trial_id"].agg(tuple)
    return means.assign(
        **{f"{name}_low": means[name] - half[name] for name in bounded},
        **{f"{name}_high": means[name] + half[name] for name in bounded},
        num_all_runs=ids.map(len),
        curve_ids=ids,
    )


def _half_widths(variances: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """Return half of each interval: the pooled variance within combinations, with its quantile."""
    df = (counts - 1).clip(lower=0)
    pooled_df = df.sum()
    pooled = (variances.fillna(0.0) * df).sum() / pooled_df.where(pooled_df > 0)
    quantile = t_quantile(pooled_df.where(pooled_df > 0).to_numpy(dtype=np.float64))
    variances_of_means: pd.DataFrame = pooled / counts.where(counts > 0)
    return variances_of_means**0.5 * quantile
