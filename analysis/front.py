"""The front of a run: its configs, which of them no other beats, and the table of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.columns import config_of, params_of
from analysis.configs import by_config
from analysis.pareto import pareto_front
from analysis.rule import objectives_of
from analysis.wording import telling_knobs
from orchestrator.trial import Stage

FRONT_FILE: Final = "front.csv"

_FIGURES = ("test_acc", "epoch_s", "epoch_start_s", "train_s", "step_ms", "peak_rss_gib")


def searched_configs(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> pd.DataFrame:
    """The completed configs of stage ``train``, with a column ``on_front``."""
    objectives = objectives_of(sweep)
    configs = by_config(trials, stage=Stage.TRAIN, speed=objectives[0].metric)
    known = {f"metrics.{objective.metric}" for objective in objectives} <= set(configs.columns)
    on_front = pareto_front(configs, objectives) if known else np.zeros(len(configs), np.bool_)
    return configs.assign(on_front=on_front)


def front_table(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> pd.DataFrame:
    """What ``front.csv`` holds: the front's configs, the best of the first objective first.

    Columns: ``params.*`` of every knob, the objectives, the speed's interval and what it
    is an interval over, other figures that were measured, and the ids of the trials.
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
        front = front.sort_values(fastest, ascending=speed.sign < 0, kind="stable")
    telling = telling_knobs([config_of(row, sweep) for row in front.to_dict("records")], sweep)
    first = [f"params.{name}" for name in telling if f"params.{name}" in configs.columns]
    ordered = [*first, *(column for column in params_of(configs) if column not in first)]
    table = front[[*ordered, *columns, "interval", "num_runs", "trial_ids"]].reset_index(drop=True)
    return table.assign(trial_ids=table["trial_ids"].map(" ".join))
