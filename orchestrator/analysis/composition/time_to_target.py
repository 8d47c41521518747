"""Time to accuracy of composed configs: the epochs of a curve at the speed of a setting."""

from __future__ import annotations

import pandas as pd

from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.time_to_accuracy import (
    CLOCK,
    TimeToAccuracy,
    time_to_accuracy,
)

_EPOCH_S = "metrics.epoch_s"


def composed_time_to_accuracy(
    configs: pd.DataFrame,
    trials: pd.DataFrame,
    curves: pd.DataFrame,
    rule: Rule,
    *,
    target: float | None = None,
) -> TimeToAccuracy | None:
    """Return the times of composed configs, by the index of ``configs``.

    The time that a curve took is counted in its own epochs, and these last as long as the config's
    do. ``accuracy`` is empty: a curve has no report at the moment at which another config is there.

    Args:
        configs: From :func:`~orchestrator.analysis.composition.compose.compose`, of one group.
        trials: The trials that the curves are of.
        curves: One row a report, of whole curves.
        rule: What the target is taken from.
        target: An accuracy in its place.

    Returns:
        None where no curve has a report as good as the target.
    """
    combinations = configs[~configs["curve_ids"].duplicated()]
    combinations = combinations.assign(timed_ids=combinations["curve_ids"])
    times = time_to_accuracy(combinations, curves, rule, target=target)
    if times is None or _EPOCH_S not in trials.columns:
        return None
    epochs_s = trials.set_index("trial_id")[_EPOCH_S]
    own = combinations["curve_ids"].map(lambda ids: epochs_s.reindex(list(ids)).mean())
    told = times.configs.assign(
        curve_ids=combinations["curve_ids"].reindex(times.configs.index),
        own_s=own.reindex(times.configs.index),
    )
    rows = configs[["curve_ids", _EPOCH_S]].reset_index(names="config")
    rows = rows.merge(told, on="curve_ids", how="inner").set_index("config")
    scale = rows[_EPOCH_S] / rows["own_s"]
    table = pd.DataFrame(
        {
            "reached_s": rows["reached_s"] * scale,
            "accuracy": float("nan"),
            "trained_s": rows["trained_s"] * scale,
            "num_reached": rows["num_reached"],
            "num_runs": rows["num_runs"],
        }
    ).rename_axis(None)
    table = table.sort_values("reached_s", kind="stable")
    first = float(table["reached_s"].min())
    return TimeToAccuracy(target=times.target, common_s=first, clock=CLOCK, configs=table)
