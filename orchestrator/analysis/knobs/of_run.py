"""One figure of every config of a run or of a table, with the noise that repeats show."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import curve_ids_of, metrics_of, params_of, texts_of
from orchestrator.analysis.comparable import ALL, GROUP
from orchestrator.analysis.knobs.figures import Figures, Kind
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.matched_pairs import Points
from orchestrator.analysis.statistics.pooling import config_ids
from orchestrator.analysis.tables.checks import column_named
from orchestrator.analysis.tables.run_tables import MARKS, RunTables
from orchestrator.analysis.wording import is_share
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import is_learned
from orchestrator.space.knob import Role
from orchestrator.trial import LOAD, Stage, TrialState

_IDLE: Final = "tags.idle"


def asked_figures(tables: RunTables, on: str | None = None) -> list[Figures]:
    """Return the requested figures of a run, each with its knobs.

    ``on`` is one figure, for all knobs. None: the first objective, for the knobs that change it by
    their roles, likewise the accuracy and each further objective.
    """
    if on is not None:
        on = on.removeprefix("metrics.")
        column_named(tables.grouped[metrics_of(tables.grouped)], on, "effects")
        return figures_of(tables, on)
    rule = tables.rule
    asked = (rule.speed, rule.accuracy, *rule.objectives)
    metrics = dict.fromkeys(objective.metric for objective in asked)
    found = []
    for metric in metrics:
        roles = {Role.LEARNING if is_learned(metric) else Role.SYSTEMS, Role.BOTH}
        changing = set(Role) if metric in OF_THE_TARGET else roles
        knobs = [knob for knob, role in tables.roles.items() if role in changing]
        found += [replace(figures, asked=knobs) for figures in figures_of(tables, metric)]
    return found


def figures_of(tables: RunTables, metric: str) -> list[Figures]:
    """Return a figure of a run's completed configs, a group of comparable rows each, main first.

    A figure of what was learned does not depend on the group, and is one.
    """
    configs = _with_noise(tables, metric)
    return figures_in(configs, metric, tables.sweep.baseline, tables.main_group)


def figures_in(
    configs: pd.DataFrame, metric: str, baseline: Mapping[str, Any], main: str = ""
) -> list[Figures]:
    """Return a figure of the configs of a table, a group of comparable rows each.

    Args:
        configs: One row a config and group: ``params.*``, ``metrics.*``; ``variance`` of the figure
            (of its logarithm if ratios are taken) and ``df``, ``group``, :data:`MARKS`; ``runs``,
            ``mixed`` and ``tags.idle`` if they are known.
        metric: The figure.
        baseline: The baseline's value of each knob.
        main: The group that comes first.
    """
    params, column = params_of(configs), f"metrics.{metric}"
    configs = configs.iloc[(configs[GROUP] != main).argsort(kind="stable")]
    if is_learned(metric):
        configs = configs[~configs.duplicated(params)]
        configs = configs.assign(**{LOAD: False}, **{GROUP: ALL})
    kind, found = kind_of(metric, configs[column].dropna()), []
    for group, rows in configs.groupby(GROUP, sort=False):
        levels = rows[column].to_numpy(dtype=np.float64)
        marks = {name: rows[name].to_numpy(np.bool_) for name in MARKS}
        found.append(
            Figures(
                metric=metric,
                group=str(group),
                points=Points(
                    rows[params].rename(columns=lambda name: name.removeprefix("params."))
                ),
                levels=np.log(levels) if kind is Kind.RATIO else levels,
                variances=rows["variance"].to_numpy(dtype=np.float64),
                df=rows["df"].to_numpy(dtype=np.float64),
                runs=rows["runs"].to_numpy(dtype=np.int64) if "runs" in rows.columns else None,
                marks=marks,
                is_mixed="mixed" in rows.columns and bool(rows["mixed"].any()),
                kind=kind,
                baseline=baseline,
                idle=_idle_knobs(rows),
            )
        )
    return found


def _idle_knobs(rows: pd.DataFrame) -> dict[str, npt.NDArray[np.bool_]]:
    """Return the configs in which each knob has no effect, for knobs that have such configs."""
    codes, texts = pd.factorize(texts_of(rows, _IDLE))
    sets = [set(filter(None, str(text).split(", "))) for text in texts]
    return {
        name: np.isin(codes, [code for code, names in enumerate(sets) if name in names])
        for name in set[str]().union(*sets)
    }


def kind_of(metric: str, figures: "pd.Series[Any]") -> Kind:
    """Return how two figures of a metric are compared.

    By their ratio, unless it was learned, is a share, or may be 0 or less.
    """
    is_ratio = not (is_learned(metric) or is_share(metric)) and bool((figures > 0).all())
    return Kind.RATIO if is_ratio else Kind.DIFFERENCE


def _with_noise(tables: RunTables, metric: str) -> pd.DataFrame:
    """Return the run's configs with the noise of this figure."""
    column, configs = f"metrics.{metric}", tables.configs
    if column not in configs.columns:
        return configs.assign(**{column: np.nan})
    configs = tables.configs_with_runs(metric)
    if is_learned(metric):
        return _spread_over_seeds(configs, tables, metric)
    if metric == tables.rule.speed.metric or "runs" in configs.columns:
        return configs
    if kind_of(metric, configs[column].dropna()) is Kind.DIFFERENCE:
        return configs.assign(variance=np.nan, df=np.nan)
    spread = by_config(tables.grouped, speed=metric)  # the same configs, in the same order
    return configs.assign(variance=spread["variance"], df=spread["df"])


def _spread_over_seeds(configs: pd.DataFrame, tables: RunTables, metric: str) -> pd.DataFrame:
    """Return the configs with ``variance`` and ``df`` of the mean of a figure that was learned.

    The variance between seeds is pooled over all configs, as in
    :mod:`orchestrator.analysis.statistics.pooling` for speeds; in a factored search over its
    learning combinations. Confirm runs contribute too. NaN if no config has two seeds.
    """
    rows, column = tables.grouped, f"metrics.{metric}"
    rows = rows[[*params_of(rows), "trial_id", "stage", "state", "seed", column]]
    is_trained = (rows["stage"] != Stage.PROBE) & (rows["state"] == TrialState.COMPLETED)
    rows = rows[is_trained & rows[column].notna()]
    keys = tables.combinations(rows)
    if keys is None:
        repeated = configs.loc[configs["num_all_runs"] > 1, "trial_ids"].explode()
        rows = rows[rows["trial_id"].isin(repeated) | (rows["stage"] != Stage.TRAIN)]
        keys = config_ids(rows[params_of(rows)])
    of_seed = rows.groupby([keys, rows["stage"], rows["seed"]], sort=False)[column].mean()
    cells = of_seed.groupby(level=[0, 1], sort=False).agg(["var", "count"])
    df = float((cells["count"] - 1).sum())
    if df <= 0:
        return configs.assign(variance=np.nan, df=np.nan)
    variance = float((cells["var"].fillna(0.0) * (cells["count"] - 1)).sum()) / df
    # Two runs of one seed are one.
    seeds = rows.loc[rows["stage"] == Stage.TRAIN].set_index("trial_id")["seed"].to_dict()
    ids = curve_ids_of(configs)
    num_seeds = [max(len({seeds.get(one) for one in some} - {None}), 1) for some in ids]
    return configs.assign(variance=variance / np.array(num_seeds), df=df)
