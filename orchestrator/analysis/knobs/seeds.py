"""The spread of what was learned between runs of one config that differ in their seed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.composition.parts import COMBINATION, with_keys
from orchestrator.analysis.statistics.pooling import config_ids
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.trial import Stage, TrialState


def spread_over_seeds(configs: pd.DataFrame, tables: RunTables, metric: str) -> pd.DataFrame:
    """Return the configs with ``variance`` and ``df`` of the mean of a figure that was learned.

    The variance between seeds is pooled over all configs, as
    :mod:`orchestrator.analysis.statistics.pooling` does with speeds; of a factored search over its
    learning combinations. Runs of the confirm stage tell it too. NaN where no config has two seeds.
    """
    column = f"metrics.{metric}"
    rows = _told(tables.grouped, column)
    if tables.is_composed:
        rows = with_keys(rows, tables.candidates, tables.roles)[0]
        keys = rows[COMBINATION]
    else:
        repeated = configs.loc[configs["num_all_runs"] > 1, "trial_ids"].explode()
        rows = rows[rows["trial_id"].isin(repeated) | (rows["stage"] == Stage.CONFIRM)]
        keys = config_ids(rows[params_of(rows)])
    of_seed = rows.groupby([keys, rows["stage"], rows["seed"]], sort=False)[column].mean()
    cells = of_seed.groupby(level=[0, 1], sort=False).agg(["var", "count"])
    df = float((cells["count"] - 1).sum())
    if df <= 0:
        return configs.assign(variance=np.nan, df=np.nan)
    variance = float((cells["var"].fillna(0.0) * (cells["count"] - 1)).sum()) / df
    return configs.assign(variance=variance / _num_seeds(configs, rows), df=df)


def _num_seeds(configs: pd.DataFrame, rows: pd.DataFrame) -> pd.Series[int]:
    """Return how many seeds each config was trained with: two runs of one seed are one."""
    seeds = rows.loc[rows["stage"] == Stage.TRAIN].set_index("trial_id")["seed"].to_dict()
    ids = configs["curve_ids" if "curve_ids" in configs else "trial_ids"]
    counts = [
        len({seeds[trial_id] for trial_id in of_config if trial_id in seeds}) for of_config in ids
    ]
    return pd.Series(counts, index=configs.index).clip(lower=1)


def _told(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the runs to the end that tell a figure, in the columns that are needed."""
    rows = rows[[*params_of(rows), "trial_id", "stage", "state", "seed", column]]
    of_stage = rows["stage"].isin([Stage.TRAIN, Stage.CONFIRM])
    return rows[of_stage & (rows["state"] == TrialState.COMPLETED) & rows[column].notna()]
