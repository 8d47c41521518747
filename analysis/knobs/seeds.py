"""The spread of what was learned between runs of one config that differ in their seed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.columns import params_of
from analysis.composition.keys import COMBINATION, with_keys
from analysis.statistics.pooling import config_ids
from analysis.tables.run_tables import RunTables
from orchestrator.trial import Stage, TrialState


def spread_over_seeds(configs: pd.DataFrame, tables: RunTables, metric: str) -> pd.DataFrame:
    """Return the configs with ``variance`` and ``df`` of the mean of a figure that was learned.

    The variance between seeds is pooled over all configs, as
    :mod:`analysis.statistics.pooling` does with speeds; of a factored search over its learning
    combinations. Runs of the confirm stage tell it too. NaN where no config has two seeds.
    """
    column = f"metrics.{metric}"
    rows = tables.grouped
    rows = rows[rows["stage"].isin([Stage.TRAIN, Stage.CONFIRM])]
    rows = rows[(rows["state"] == TrialState.COMPLETED) & rows[column].notna()]
    if tables.is_composed:
        rows = with_keys(rows, tables.candidates, tables.roles)[0]
        keys = rows[COMBINATION]
    else:
        rows = _of_repeated(rows, configs)
        keys = config_ids(rows[params_of(rows)])
    of_seed = rows.groupby([keys, rows["stage"], rows["seed"]], sort=False)[column].mean()
    cells = of_seed.groupby(level=[0, 1], sort=False).agg(["var", "count"])
    df = float((cells["count"] - 1).sum())
    if df <= 0:
        return configs.assign(variance=np.nan, df=np.nan)
    variance = float((cells["var"].fillna(0.0) * (cells["count"] - 1)).sum()) / df
    counts = configs["num_all_runs"].clip(lower=1)
    return configs.assign(variance=variance / counts, df=df)


def _of_repeated(rows: pd.DataFrame, configs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of configs that have several runs, and of the confirm stage."""
    repeated = configs.loc[configs["num_all_runs"] > 1, "trial_ids"].explode()
    return rows[rows["trial_id"].isin(repeated) | (rows["stage"] == Stage.CONFIRM)]
