"""Time to accuracy: the moment at which each config got where training is to end.

A config with fast steps may learn little in each of them: one batch of all samples takes one
step an epoch. So epochs do not compare such configs, and time does (time to accuracy, as
MLPerf Training counts it; Mattson et al., 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.rule import Rule, limit_of

CLOCK: Final = "metrics.train_s"
"""Time in training epochs: evaluating more often does not make a config slower."""
WHOLE_CLOCK: Final = "elapsed_s"
"""Time since the process began, for trials that report no training time."""

_EXACT: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class TimeToAccuracy:
    """Times at which configs reached an accuracy.

    Attributes:
        target: The accuracy: the least one that the sweep's rule lets a config have.
        common_s: When the first config was there.
        clock: The column that time is read from.
        configs: Of each config, by the index of the table asked about: ``reached_s``, when
            half of its runs had a report as good as the target, NaN where fewer ever did;
            ``accuracy``, the median of their last reports up to ``common_s``, NaN where half
            had none; ``trained_s``, the median of how long they trained; ``num_reached`` of
            ``num_runs``, the runs that its speed is from. Soonest first, then the most accurate.
    """

    target: float
    common_s: float
    clock: str
    configs: pd.DataFrame


def time_to_accuracy(
    configs: pd.DataFrame, curves: pd.DataFrame, rule: Rule, *, target: float | None = None
) -> TimeToAccuracy | None:
    """Return the times that the learning curves tell of each config.

    Args:
        configs: Rows that are comparable, from
        :func:`orchestrator.analysis.statistics.by_config.by_config`.
        curves: The curves table. A time is known as finely as accuracy was evaluated.
        rule: What the target is taken from.
        target: An accuracy in its place.

    Returns:
        None where no config has a report as good as the target; with a ``target`` of the caller's
        own, where no config has any.
    """
    column = rule.accuracy_column
    if configs.empty or column not in curves.columns or configs[column].isna().all():
        return None
    is_own, target = target is None, accuracy_asked(configs, rule) if target is None else target
    runs = _runs(configs, curves, column)
    if runs.empty:
        return None
    clock = CLOCK if CLOCK in runs and runs[CLOCK].notna().all() else WHOLE_CLOCK
    runs = runs.sort_values(["config", "trial_id", clock], kind="stable")
    is_there = rule.accuracy.sign * (runs[column] - target) >= -_EXACT
    runs = runs.assign(there_s=runs[clock].where(is_there, np.inf))
    of_run = runs.groupby(["config", "trial_id"])
    by_run = of_run.agg(reached_s=("there_s", "min"), trained_s=(clock, "max"))
    of_config = by_run.groupby("config")
    reached_s = of_config["reached_s"].quantile(0.5, interpolation="lower")
    common_s = float(reached_s.min())
    if is_own and not np.isfinite(common_s):
        return None
    by_then = runs[runs[clock] <= common_s + _EXACT].groupby(["config", "trial_id"])[column].last()
    # A run without a report by then knew nothing yet: the median over runs counts it as such.
    by_then = by_then.reindex(by_run.index, fill_value=-np.inf * rule.accuracy.sign)
    table = pd.DataFrame(
        {
            "reached_s": reached_s,
            "accuracy": by_then.groupby("config").median(),
            "trained_s": of_config["trained_s"].median(),
            "num_reached": np.isfinite(by_run["reached_s"]).groupby("config").sum(),
            "num_runs": of_config.size(),
        }
    )
    table = table.replace([np.inf, -np.inf], np.nan)
    table = table.assign(_final=rule.accuracy.sign * configs[column].reindex(table.index))
    table = table.sort_values(["reached_s", "_final"], ascending=[True, False], kind="stable")
    return TimeToAccuracy(
        target=target, common_s=common_s, clock=clock, configs=table.drop(columns="_final")
    )


def accuracy_asked(configs: pd.DataFrame, rule: Rule) -> float:
    """Return the least accuracy that a rule lets a config have; NaN where none has any."""
    limit = rule.limits(configs).get(rule.accuracy.metric)
    if limit is None or pd.isna(limit):
        return limit_of(rule.accuracy, configs[rule.accuracy_column])
    return limit


def samples_to_accuracy(
    configs: pd.DataFrame, curves: pd.DataFrame, rule: Rule, target: float
) -> pd.DataFrame:
    """Return the training samples that each config took to an accuracy, by its index.

    ``samples`` is when half of its runs were there, NaN where fewer ever were, or none has a curve;
    ``num_reached`` of ``num_curves``.
    """
    runs = _runs(configs, curves, rule.accuracy_column)
    is_there = rule.accuracy.sign * (runs[rule.accuracy_column] - target) >= -_EXACT
    there = runs.assign(there=runs["samples"].astype("float64").where(is_there, np.inf))
    by_run = there.groupby(["config", "trial_id"])["there"].min()
    of_config = by_run.groupby(level="config")
    reached = of_config.quantile(0.5, interpolation="lower").replace(np.inf, np.nan)
    table = pd.DataFrame(
        {
            "samples": reached,
            "num_reached": (by_run < np.inf).groupby(level="config").sum(),
            "num_curves": of_config.size(),
        }
    )
    counts = {"num_reached": "int64", "num_curves": "int64"}
    return table.reindex(configs.index).fillna(dict.fromkeys(counts, 0)).astype(counts)


def _runs(configs: pd.DataFrame, curves: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the reports with an accuracy, with the ``config`` that each is of."""
    trials: dict[Any, Any] = {
        trial: index for index, ids in configs["timed_ids"].items() for trial in ids
    }
    return curves.assign(config=curves["trial_id"].map(trials)).dropna(subset=["config", column])
