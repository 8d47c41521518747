"""One figure of every config of a run or of a table, with the noise that repeats show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import ALL, GROUP
from orchestrator.analysis.composition.compose import COMPOSED, rate_of
from orchestrator.analysis.composition.parts import COMBINATION, UNTOLD, with_keys
from orchestrator.analysis.knobs.figures import Figures, Kind
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.matched_pairs import Points
from orchestrator.analysis.statistics.pooling import config_ids
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import is_share
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import is_learned
from orchestrator.space.knob import Role
from orchestrator.trial import Stage, TrialState

IDLE: Final = "tags.idle"
_BESIDE: Final = ("variance", "df", "contaminated", COMPOSED, "runs")


def figures_by_role(tables: RunTables, on: str | None = None) -> list[Figures]:
    """Return the requested figures of a run, each with its knobs.

    ``on`` is one figure, for all knobs. None: the first objective, for the knobs that change it by
    their roles, and the accuracy, for the knobs that change the accuracy.
    """
    if on is not None:
        return figures_of(tables, on)
    metrics = dict.fromkeys((tables.rule.speed.metric, tables.rule.accuracy.metric))
    return [
        replace(figures, asked=[k for k, role in tables.roles.items() if role in _roles(metric)])
        for metric in metrics
        for figures in figures_of(tables, metric)
    ]


def _roles(metric: str) -> tuple[Role, ...]:
    """Return the roles of the knobs that change a figure."""
    if metric in OF_THE_TARGET:
        return tuple(Role)
    return (Role.LEARNING if is_learned(metric) else Role.SYSTEMS, Role.BOTH)


def figures_of(tables: RunTables, metric: str) -> list[Figures]:
    """Return a figure of a run's completed configs, a group of comparable rows each, main first.

    A figure of what was learned does not depend on the group, and is one.
    """
    objectives = (*tables.rule.objectives, *tables.sweep.objectives)
    signs = [objective.sign for objective in objectives if objective.metric == metric]
    return figures_in(
        _with_noise(tables, metric),
        metric,
        baseline=tables.sweep.baseline,
        main=tables.main_group,
        sign=next(iter(signs), 1.0),
    )


def figures_in(
    configs: pd.DataFrame,
    metric: str,
    *,
    baseline: Mapping[str, Any],
    main: str = "",
    sign: float = 1.0,
) -> list[Figures]:
    """Return a figure of the configs of a table, a group of comparable rows each.

    Args:
        configs: One row a config and group: ``params.*``, ``metrics.*``; ``variance`` of the figure
            (of its logarithm if ratios are taken) and ``df``, ``group``, ``contaminated``,
            ``composed`` and ``runs`` if they are known.
        metric: The figure.
        baseline: The baseline's value of each knob.
        main: The group that comes first.
        sign: +1 if larger is better, -1 if smaller is.
    """
    column = f"metrics.{metric}"
    needed = (*params_of(configs), column, GROUP, IDLE, *_BESIDE)
    configs = configs[[name for name in needed if name in configs.columns]]
    groups = _cells(configs, GROUP, ALL)
    if is_learned(metric):
        if groups.nunique() > 1:
            configs = configs.iloc[(groups != main).argsort(kind="stable")]
            configs = configs[~configs.duplicated(params_of(configs))]
        groups = pd.Series(ALL, index=configs.index)
        configs = configs.drop(columns="contaminated", errors="ignore")
    kind = kind_of(metric, configs[column].dropna())
    return [
        _of_group(configs[groups == name], metric, kind, group=name, baseline=baseline, sign=sign)
        for name in sorted(groups.unique(), key=lambda name: name != main)
    ]


def kind_of(metric: str, figures: pd.Series[Any]) -> Kind:
    """Return how two figures of a metric are compared.

    By their ratio, unless it was learned, is a share, or may be 0 or less.
    """
    is_ratio = not (is_learned(metric) or is_share(metric)) and bool((figures > 0).all())
    return Kind.RATIO if is_ratio else Kind.DIFFERENCE


def _of_group(configs: pd.DataFrame, metric: str, kind: Kind, **of_all: Any) -> Figures:  # noqa: ANN401
    columns = params_of(configs)
    params = configs[columns].rename(columns=lambda name: name.removeprefix("params."))
    levels = configs[f"metrics.{metric}"].to_numpy(dtype=np.float64)
    composed, contaminated = (
        _cells(configs, name, False).fillna(False).to_numpy(dtype=np.bool_)
        for name in (COMPOSED, "contaminated")
    )
    idle, sets = pd.factorize(_cells(configs, IDLE, "").fillna(""))
    return Figures(
        metric=metric,
        points=Points(params),
        levels=np.log(levels) if kind is Kind.RATIO else levels,
        variances=_cells(configs, "variance", np.nan).to_numpy(dtype=np.float64),
        df=_cells(configs, "df", np.nan).to_numpy(dtype=np.float64),
        runs=configs["runs"].fillna(-1).to_numpy(dtype=np.int64)
        if "runs" in configs.columns
        else None,
        composed=composed,
        contaminated=contaminated,
        is_mixed=bool(composed.any()) and metric in UNTOLD and not is_learned(metric),
        kind=kind,
        idle=idle,
        idle_sets=[frozenset(filter(None, str(text).split(", "))) for text in sets],
        **of_all,
    )


def _cells(configs: pd.DataFrame, column: str, otherwise: object) -> pd.Series[Any]:
    if column in configs.columns:
        return configs[column]
    return pd.Series(otherwise, index=configs.index)


def _with_noise(tables: RunTables, metric: str) -> pd.DataFrame:
    """Return the run's configs with the noise of this figure, and the figure's runs."""
    configs, speed = tables.configs, tables.rule.speed.metric
    if f"metrics.{metric}" not in configs.columns:
        return configs.assign(**{f"metrics.{metric}": np.nan})
    if is_learned(metric):
        return _spread_over_seeds(_with_runs(configs, metric), tables, metric)
    if metric == speed or tables.is_composed:
        return _with_runs(configs, metric, noise_is_of=(speed, rate_of(tables.rule.speed)))
    if kind_of(metric, configs[f"metrics.{metric}"].dropna()) is Kind.DIFFERENCE:
        return _with_runs(configs, metric)
    spread = by_config(tables.grouped, speed=metric)  # the same configs, in the same order
    return configs.assign(variance=spread["variance"], df=spread["df"])


def _with_runs(
    configs: pd.DataFrame, metric: str, *, noise_is_of: Collection[str] = ()
) -> pd.DataFrame:
    """Return a table of configs with the ``runs`` of a figure, if it is composed.

    The columns ``variance`` and ``df`` are emptied unless the figure is one of ``noise_is_of``.
    """
    if metric not in noise_is_of:
        configs = configs.assign(variance=np.nan, df=np.nan)
    if "speed_ids" not in configs.columns:
        return configs
    ids = "curve_ids" if is_learned(metric) else "trial_ids" if metric in UNTOLD else "speed_ids"
    return configs.assign(runs=pd.factorize(configs[ids])[0])


def _spread_over_seeds(configs: pd.DataFrame, tables: RunTables, metric: str) -> pd.DataFrame:
    """Return the configs with ``variance`` and ``df`` of the mean of a figure that was learned.

    The variance between seeds is pooled over all configs, as in
    :mod:`orchestrator.analysis.statistics.pooling` for speeds; in a factored search over its
    learning combinations. Confirm runs contribute too. NaN if no config has two seeds.
    """
    column = f"metrics.{metric}"
    rows = _runs_to_the_end(tables.grouped, column)
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


def _runs_to_the_end(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the runs to the end that report a figure, in the columns that are needed."""
    rows = rows[[*params_of(rows), "trial_id", "stage", "state", "seed", column]]
    of_stage = rows["stage"].isin([Stage.TRAIN, Stage.CONFIRM])
    return rows[of_stage & (rows["state"] == TrialState.COMPLETED) & rows[column].notna()]
