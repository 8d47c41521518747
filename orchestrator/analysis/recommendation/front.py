"""The table of the front: the configs that no other one beats in every objective."""

from __future__ import annotations

from typing import Final

import pandas as pd

from orchestrator.analysis.columns import configs_of, params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.recommendation.confirmed import MEASURED_IN, with_confirmed
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import telling_knobs

_FIGURES: Final = ("test_acc", "epoch_s", "epoch_start_s", "train_s", "step_ms", "peak_rss_gib")
_AGAINST_BEST: Final = (
    "interval", COMPOSED, MEASURED_IN, "num_runs", "num_all_runs", "verdict", "ratio_to_best",
    GROUP, "trial_ids",
)  # fmt: skip


def front_table(tables: RunTables) -> pd.DataFrame:
    """Return what ``front.csv`` holds: the front, the best of the first objective first.

    Columns: ``params.*`` of every knob, the objectives, the speed's interval and what it
    is an interval over, other figures that were measured, the ``verdict`` against the best
    of those that are accurate enough (empty for the others) with ``ratio_to_best``, the
    ``group`` of rows that may be ranked together, and the ids of the trials. Where there
    are several groups, each has its own front; the main group's comes first. ``composed`` configs
    have the speed of ``num_runs`` probes and the accuracy of ``num_all_runs`` curves, which were
    not all of the config itself. Searching runs alone say what is on the front and its verdict.
    Where a config has confirm runs its figures are theirs, as ``measured_in`` says.
    """
    configs, speed = _measured(tables), tables.rule.speed
    others = [o.metric for o in (*tables.rule.objectives, tables.rule.accuracy) if o is not speed]
    front = configs[configs["on_front"]]
    fastest = f"metrics.{speed.metric}"
    if fastest in front.columns:
        order = front.groupby(GROUP, sort=False).ngroup().rename("order")
        front = front.join(order).sort_values(
            ["order", fastest], ascending=[True, speed.sign < 0], kind="stable"
        )
    figures = _figures([speed.metric, *others], configs)
    table = front[[*_knobs(front, tables), *figures, *_AGAINST_BEST]].reset_index(drop=True)
    return table.assign(trial_ids=table["trial_ids"].map(" ".join))


def _measured(tables: RunTables) -> pd.DataFrame:
    """Return the configs with one figure each; ``trial_ids`` are of the runs of all stages."""
    ranked = tables.ranked
    confirmed = tables.confirmed.assign(is_baseline=False, is_recommended=False)
    shown = with_confirmed(ranked, confirmed, tables.rule.speed_column)
    both = zip(ranked["trial_ids"], shown["trial_ids"], strict=True)
    ids = [tuple(dict.fromkeys((*searching, *own))) for searching, own in both]
    return shown.assign(trial_ids=pd.Series(ids, index=shown.index, dtype="object"))


def main_front(front: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a :func:`front_table` that are of the main group."""
    return front[front[GROUP] == front[GROUP].iloc[0]] if len(front) else front


def _figures(objectives: list[str], configs: pd.DataFrame) -> list[str]:
    """Return the columns of figures, the objectives first."""
    speed, *others = objectives
    names = [speed, f"{speed}_low", f"{speed}_high", *others, *_FIGURES]
    columns = [f"metrics.{name}" for name in dict.fromkeys(names)]
    return [column for column in columns if column in configs.columns]


def _knobs(front: pd.DataFrame, tables: RunTables) -> list[str]:
    """Return the columns of knobs, first those that tell the configs of the front apart."""
    telling = telling_knobs(configs_of(front, tables.sweep), tables.sweep)
    columns = params_of(front)
    first = [f"params.{name}" for name in telling if f"params.{name}" in columns]
    return [*first, *(column for column in columns if column not in first)]
