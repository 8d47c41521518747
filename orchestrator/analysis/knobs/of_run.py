"""One figure of every config of a run or of a table, with the noise that repeats tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import ALL, GROUP
from orchestrator.analysis.composition.compose import COMPOSED, rate_of
from orchestrator.analysis.composition.times import UNTOLD
from orchestrator.analysis.knobs.figures import Figures, Kind
from orchestrator.analysis.knobs.seeds import spread_over_seeds
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.matched_pairs import Points
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import is_share
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import is_learned
from orchestrator.space.knob import Role
from orchestrator.trial import TrialState

IDLE: Final = "tags.idle"
_BESIDE: Final = ("variance", "df", "contaminated", COMPOSED, "runs")


def figures_by_role(tables: RunTables, on: str | None, *, with_lost: bool = False) -> list[Figures]:
    """Return the figures that a run is asked for, each with the knobs that it is asked of.

    Args:
        tables: The run.
        on: One figure, asked of all knobs. None: the first objective, of the knobs that change it
            by their roles, and the accuracy, of those that change that.
        with_lost: As :func:`figures_of` takes it.
    """
    if on is not None:
        return figures_of(tables, on, with_lost=with_lost)
    metrics = dict.fromkeys((tables.rule.speed.metric, tables.rule.accuracy.metric))
    return [
        replace(figures, asked=[k for k, role in tables.roles.items() if role in _roles(metric)])
        for metric in metrics
        for figures in figures_of(tables, metric, with_lost=with_lost)
    ]


def _roles(metric: str) -> tuple[Role, ...]:
    """Return the roles of the knobs that change a figure."""
    if metric in OF_THE_TARGET:
        return tuple(Role)
    return (Role.LEARNING if is_learned(metric) else Role.SYSTEMS, Role.BOTH)


def figures_of(tables: RunTables, metric: str, *, with_lost: bool = False) -> list[Figures]:
    """Return a figure of a run's completed configs, a group of comparable rows each, main first.

    What was learned does not depend on the group, and is one.

    Args:
        tables: The run.
        metric: The figure.
        with_lost: Also the configs that are infeasible or failed, without a figure.
    """
    configs = _with_noise(tables, metric)
    if with_lost:
        configs = _with_lost(configs, tables)
    objectives = (*tables.rule.objectives, *tables.sweep.objectives)
    signs = [objective.sign for objective in objectives if objective.metric == metric]
    found = figures_in(
        configs,
        metric,
        baseline=tables.sweep.baseline,
        main=tables.main_group,
        sign=next(iter(signs), 1.0),
    )
    known = set(params_of(configs))
    defaults = {
        name: knob.default
        for name, knob in tables.sweep.knobs.items()
        if knob.conditional and f"params.{name}" in known
    }
    return [replace(figures, conditional=defaults) for figures in found]


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
            (of its logarithm where ratios are taken) and ``df``, ``group``, ``contaminated``,
            ``composed`` and ``runs`` where they are known.
        metric: The figure.
        baseline: The baseline's value of each knob.
        main: The group that comes first.
        sign: +1 where larger is better, -1 where smaller is.
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
        _of_group(
            configs[groups == name], metric, kind=kind, baseline=baseline, group=name, sign=sign
        )
        for name in sorted(groups.unique(), key=lambda name: name != main)
    ]


def kind_of(metric: str, figures: pd.Series[Any]) -> Kind:
    """Return how two figures of a metric are compared.

    By their ratio, unless it was learned, is a share, or may be 0 or less.
    """
    is_ratio = not (is_learned(metric) or is_share(metric)) and bool((figures > 0).all())
    return Kind.RATIO if is_ratio else Kind.DIFFERENCE


def _of_group(
    configs: pd.DataFrame,
    metric: str,
    *,
    kind: Kind,
    baseline: Mapping[str, Any],
    group: str,
    sign: float,
) -> Figures:
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
        group=group,
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
        baseline=baseline,
        sign=sign,
        idle=idle,
        idle_sets=[frozenset(filter(None, str(text).split(", "))) for text in sets],
    )


def _cells(configs: pd.DataFrame, column: str, otherwise: object) -> pd.Series[Any]:
    if column in configs.columns:
        return configs[column]
    return pd.Series(otherwise, index=configs.index)


def _with_lost(configs: pd.DataFrame, tables: RunTables) -> pd.DataFrame:
    rows = tables.searched
    lost = rows[rows["state"].isin([TrialState.INFEASIBLE, TrialState.FAILED])]
    if lost.empty or configs.empty:
        return configs
    keys = [*params_of(configs), GROUP]
    lost = lost[[name for name in keys if name in lost.columns]]
    both = pd.concat([configs, lost], ignore_index=True)
    return both[~both.duplicated(keys)]


def _with_noise(tables: RunTables, metric: str) -> pd.DataFrame:
    """Return the run's configs with the noise of this figure, and the runs that it is of."""
    configs, speed = tables.configs, tables.rule.speed.metric
    if f"metrics.{metric}" not in configs.columns:
        return configs.assign(**{f"metrics.{metric}": np.nan})
    if is_learned(metric):
        return spread_over_seeds(with_runs(configs, metric), tables, metric)
    if metric == speed or tables.is_composed:
        return with_runs(configs, metric, noise_is_of=(speed, rate_of(tables.rule.speed)))
    if kind_of(metric, configs[f"metrics.{metric}"].dropna()) is Kind.DIFFERENCE:
        return with_runs(configs, metric)
    spread = by_config(tables.grouped, speed=metric)  # the same configs, in the same order
    return configs.assign(variance=spread["variance"], df=spread["df"])


def with_runs(
    configs: pd.DataFrame, metric: str, *, noise_is_of: Collection[str] = ()
) -> pd.DataFrame:
    """Return a table of configs with the ``runs`` that a figure is of, where it is composed.

    Args:
        configs: A run's table of configs.
        metric: The figure.
        noise_is_of: Figures that the columns ``variance`` and ``df`` are of; of another one they
            are emptied.
    """
    if metric not in noise_is_of:
        configs = configs.assign(variance=np.nan, df=np.nan)
    if "speed_ids" not in configs.columns:
        return configs
    ids = "curve_ids" if is_learned(metric) else "trial_ids" if metric in UNTOLD else "speed_ids"
    return configs.assign(runs=pd.factorize(configs[ids])[0])
