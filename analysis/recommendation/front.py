"""The front of a run: its configs, which of them no other beats, and the table of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from analysis.columns import configs_of, params_of
from analysis.comparable import GROUP, main_group, with_groups
from analysis.rule import objectives_of, rule_of
from analysis.statistics.against_best import against_best
from analysis.statistics.by_config import by_config
from analysis.statistics.pareto import pareto_front
from analysis.wording import telling_knobs
from orchestrator.trial import Stage

FRONT_FILE: Final = "front.csv"

_FIGURES = ("test_acc", "epoch_s", "epoch_start_s", "train_s", "step_ms", "peak_rss_gib")
_STANDING = ("interval", "num_runs", "verdict", "ratio_to_best", GROUP, "trial_ids")


def searched_configs(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> pd.DataFrame:
    """The completed configs of stage ``train``, with their front and their standing.

    Returns:
        The columns of :func:`~analysis.statistics.by_config.by_config` and of
        :func:`~analysis.statistics.against_best.against_best`, and ``on_front``; each group of
        comparable rows (column ``group``) has a front and a best of its own, the main group first.
    """
    objectives, rule = objectives_of(sweep), rule_of(sweep)
    grouped = with_groups(trials, sweep)
    configs = by_config(grouped, stage=Stage.TRAIN, speed=objectives[0].metric)
    configs = against_best(configs, rule).assign(on_front=False)
    if {f"metrics.{objective.metric}" for objective in objectives} <= set(configs.columns):
        for _, group in configs.groupby(GROUP, sort=False):
            configs.loc[group.index, "on_front"] = pareto_front(group, objectives)
    is_main = configs[GROUP] == main_group(grouped, sweep)
    return pd.concat([configs[is_main], configs[~is_main]], ignore_index=True)


def front_table(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> pd.DataFrame:
    """What ``front.csv`` holds: the front's configs, the best of the first objective first.

    Columns: ``params.*`` of every knob, the objectives, the speed's interval and what it
    is an interval over, other figures that were measured, the ``verdict`` against the best
    of those that are accurate enough (empty for the others) with ``ratio_to_best``, the
    ``group`` of rows that may be ranked together, and the ids of the trials. Where there
    are several groups, each has its own front; the main group's comes first.
    """
    configs = searched_configs(trials, sweep)
    objectives = objectives_of(sweep)
    speed = objectives[0]
    names = [o.metric for o in objectives]
    figures = [names[0], f"{names[0]}_low", f"{names[0]}_high", *names[1:], *_FIGURES]
    columns = [f"metrics.{name}" for name in dict.fromkeys(figures)]
    columns = [c for c in columns if c in configs.columns]
    front = configs[configs["on_front"]]
    fastest = f"metrics.{speed.metric}"
    if fastest in front.columns:
        order = front.groupby(GROUP, sort=False).ngroup().rename("order")
        front = front.join(order).sort_values(
            ["order", fastest], ascending=[True, speed.sign < 0], kind="stable"
        )
    telling = telling_knobs(configs_of(front, sweep), sweep)
    first = [f"params.{name}" for name in telling if f"params.{name}" in configs.columns]
    ordered = [*first, *(column for column in params_of(configs) if column not in first)]
    table = front[[*ordered, *columns, *_STANDING]].reset_index(drop=True)
    return table.assign(trial_ids=table["trial_ids"].map(" ".join))


def main_front(front: pd.DataFrame) -> pd.DataFrame:
    """The rows of a :func:`front_table` that are of the main group."""
    return front[front[GROUP] == front[GROUP].iloc[0]] if len(front) else front
