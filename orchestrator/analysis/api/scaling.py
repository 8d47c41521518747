"""Speed over a knob: speed-up, efficiency, ceiling."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.api.checks import (
    Source,
    checked_configs,
    checked_knob,
    require,
    require_knobs,
    run_of,
)
from orchestrator.analysis.columns import TableError, params_of, text_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.statistics.gains import COMPUTE, LOADER, SPEED
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.tables.run_tables import RunTables

FAMILY: Final = "family"
"""Column that numbers the configs which differ in the knob alone."""


def scaling(
    source: Source, knob: str = "num_workers", *, run: RunTables | None = None
) -> pd.DataFrame:
    """Return the speeds of configs that differ in one knob alone, over that knob.

    A knob that means nothing at a value (how many batches are fetched ahead, without workers) does
    not keep that config apart: it is in each family that it may begin.

    Args:
        source: A run; or a frame of its configs, with ``run``.
        knob: A knob of numbers.
        run: The run that a frame is of.

    Returns:
        One row a config and ``family``, in the order of the knob: ``params.*``, the knob first;
        ``group``; ``metrics.samples_per_s`` with its interval; ``speedup`` over the smallest value
        of the family, with the ends ``speedup_low`` and ``speedup_high`` of its 95 % interval, NaN
        where nothing was repeated or the sweep's first objective is another figure;
        ``efficiency``, the speed-up over the ratio of the values, NaN where the smallest is 0;
        ``ceiling_samples_per_s``, the slower of loader alone and model alone;
        ``num_runs``;
        ``interval``, what the measured interval is over.

    Raises:
        TableError: A frame came without its run or is of trials; the knob is unknown, is no number,
            or no two configs differ in it alone.

    Source: strong scaling, speed-up and efficiency (Amdahl, "Validity of the single processor
    approach", 1967).
    """
    tables = run_of(source, run, "scaling")
    column = checked_knob(knob, tables, "scaling")
    frame = tables.configs if isinstance(source, RunTables) else checked_configs(source, "scaling")
    require_knobs(frame, tables.sweep.knobs, "scaling")
    needed = [GROUP, SPEED, "variance", "df", "num_runs", "interval", "trial_ids"]
    require(frame, needed, "scaling")
    frame = frame[frame[SPEED].notna()].reset_index(drop=True)
    if tables.rule.speed_column != SPEED:  # the spread is of another figure
        frame = frame.assign(variance=np.nan)
    rows = _with_speedups(_with_ceilings(_families(frame, column)), column)
    first = [column, *(name for name in params_of(frame) if name != column), FAMILY, GROUP]
    ends = [f"{SPEED}_low", f"{SPEED}_high"]
    rows = rows.assign(**{name: np.nan for name in ends if name not in rows.columns})
    figures = [
        SPEED, *ends, "speedup", "speedup_low", "speedup_high", "efficiency",
        "ceiling_samples_per_s", "num_runs", "interval",
    ]  # fmt: skip
    return rows[[*first, *figures]].sort_values([FAMILY, column]).reset_index(drop=True)


def _families(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows of families of two and more values, by ``family``."""
    if not pd.api.types.is_numeric_dtype(frame[column]) or frame[column].dtype == "boolean":
        raise TableError(f"scaling: {column} is no number, so that nothing scales with it")
    if frame[column].nunique() < 2:
        values = ", ".join(map(str, frame[column].unique())) or "none, since no config completed"
        raise TableError(f"scaling: {column} was not varied; its values: {values}")
    others = [*(name for name in params_of(frame) if name != column), GROUP]
    idle = frame.get("tags.idle", pd.Series("", index=frame.index)).map(text_of)
    numbers = frame.groupby(others, sort=False, dropna=False).ngroup()
    rows = frame.assign(**{FAMILY: numbers})
    parts = [rows[idle == ""]]
    kin = rows[idle == ""].drop_duplicates(FAMILY)
    for text in idle[idle != ""].unique():
        names = {f"params.{name}" for name in text.split(", ")}
        if column in names:
            continue
        on = [name for name in others if name not in names]
        own = rows[idle == text]
        matched = own.drop(columns=FAMILY).merge(kin[[*on, FAMILY]], on=on, how="left")
        alone = matched[FAMILY].isna()
        parts += [matched[~alone], own[own["trial_ids"].isin(matched.loc[alone, "trial_ids"])]]
    families = pd.concat([part for part in parts if len(part)], ignore_index=True)
    several = families.groupby(FAMILY)[column].transform("nunique") > 1
    if not several.any():
        raise TableError(f"scaling: no two configs differ in {column} alone")
    families = families[several].reset_index(drop=True)
    return families.assign(**{FAMILY: pd.factorize(families[FAMILY])[0]})


def _with_speedups(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add ratios to the smallest value of each family that has a measured speed."""
    measured = rows[rows[SPEED].notna()]
    base = measured.loc[measured.groupby(FAMILY)[column].idxmin()].set_index(FAMILY)
    of_base = base.loc[rows[FAMILY]].set_axis(rows.index)
    speedup = rows[SPEED] / of_base[SPEED]
    is_base = rows[column] == of_base[column]
    df = pd.concat([rows["df"], of_base["df"]], axis=1).astype("float64").min(axis=1, skipna=False)
    error = (rows["variance"] + of_base["variance"]).astype("float64") ** 0.5
    half = (error * t_quantile(df.to_numpy())).mask(is_base, 0.0)
    scale = (rows[column] / of_base[column].where(of_base[column] > 0)).astype("float64")
    return rows.assign(
        speedup=speedup,
        speedup_low=speedup * np.exp(-half),
        speedup_high=speedup * np.exp(half),
        efficiency=speedup / scale,
    )


def _with_ceilings(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the slower of loader alone and model alone."""
    ceilings = [name for name in (LOADER, COMPUTE) if name in rows.columns]
    both = rows[ceilings].min(axis=1, skipna=False) if len(ceilings) == 2 else np.nan
    return rows.assign(ceiling_samples_per_s=both)
