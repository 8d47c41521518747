"""The config that the searching runs speak for, in figures; light, since the driver asks, too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from analysis.columns import Config, as_plain, config_of, configs_of, text_of
from analysis.rule import Rule
from analysis.statistics.against_best import Verdict, against_best
from analysis.tables.run_tables import RunTables
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialState

COST_KNOBS: Final = ("gpus", "num_gpus", "ranks", "num_workers", "threads")
"""Knobs that take something of the machine, the dearest first."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The config that the searching runs speak for.

    Attributes:
        rule: The rule it was selected by.
        config: A value for every knob in plain Python, or None where there is no candidate.
        row: The config's row in :func:`~analysis.statistics.against_best.against_best`.
        fastest: The row of the fastest config that is accurate enough.
        tied: Configs as fast by their figures within the rule's margin and not shown to be
            slower, none of them cheaper.
        unresolved: Configs that are slower by more than the margin and whose intervals
            reach into it: more repeats could tell.
        contenders: Configs that may be as good, the fastest first: those of ``tied`` and of
            ``unresolved``.
        num_configs: Configs that were weighed.
        num_accurate: Configs among them that are accurate enough.
        best_accuracy: The best accuracy among them.
        state: How the runs ended that were weighed.
    """

    rule: Rule
    config: Config | None = None
    row: Mapping[Any, Any] | None = None
    fastest: Mapping[Any, Any] | None = None
    tied: tuple[Config, ...] = ()
    unresolved: tuple[Config, ...] = ()
    contenders: tuple[Config, ...] = ()
    num_configs: int = 0
    num_accurate: int = 0
    best_accuracy: float = math.nan
    state: TrialState = TrialState.COMPLETED


def select(tables: RunTables) -> Selection:
    """Select a config from the runs of stage ``train``, by validation data alone.

    Raises:
        SweepError: The sweep's objectives state no rule, see :func:`~analysis.rule.rule_of`.
    """
    rule, sweep = tables.rule, tables.sweep
    configs, state = _candidates(tables)
    if configs.empty:
        return Selection(rule=rule)
    accurate = configs[configs["verdict"] != ""]
    by_speed = accurate.sort_values("ratio_to_best", ascending=False, kind="stable")
    is_close = by_speed["ratio_to_best"] >= 1 - rule.tie_margin
    tied = by_speed[is_close & (by_speed["verdict"] != Verdict.WORSE)]
    cheapest = tied.iloc[_order_by_cost(tied, sweep)]
    choice = cheapest.iloc[0].to_dict()
    unresolved = _unresolved(by_speed[~is_close], by_speed.iloc[0], rule)
    contenders = by_speed.loc[by_speed.index.isin([*cheapest.index[1:], *unresolved.index])]
    return Selection(
        rule=rule,
        config=config_of(choice, sweep),
        row=choice,
        fastest=by_speed.iloc[0].to_dict(),
        tied=tuple(configs_of(cheapest.iloc[1:], sweep)),
        unresolved=tuple(configs_of(unresolved, sweep)),
        contenders=tuple(configs_of(contenders, sweep)),
        num_configs=len(configs),
        num_accurate=len(accurate),
        best_accuracy=rule.best_accuracy(configs[rule.accuracy_column]),
        state=state,
    )


def _candidates(tables: RunTables) -> tuple[pd.DataFrame, TrialState]:
    """Return the configs that trained their whole budget, else those that were stopped.

    Of the main group alone, compared with the best of it.
    """
    rule = tables.rule
    needed = [rule.speed_column, rule.accuracy_column]
    for state in (TrialState.COMPLETED, TrialState.STOPPED):
        configs = tables.searched_configs(state).dropna(subset=needed)
        if not configs.empty:
            return against_best(configs, rule), state
    return configs, TrialState.COMPLETED


def _unresolved(slower: pd.DataFrame, best: pd.Series[Any], rule: Rule) -> pd.DataFrame:
    """Return the configs outside the margin that may yet lie within it.

    Where nothing was run twice their own intervals speak, for want of better.
    """
    is_known = slower["variance"].notna()
    better_end = slower[f"{rule.speed_column}_{'high' if rule.speed.sign > 0 else 'low'}"]
    reaches = rule.ratios(better_end, float(best[rule.speed_column])) >= 1 - rule.tie_margin
    return slower[(slower["verdict"] == Verdict.UNRESOLVED).where(is_known, reaches)]


def _order_by_cost(tied: pd.DataFrame, sweep: SweepRecord) -> list[int]:
    """Return the positions of the rows, the cheapest first; the fastest first among equals."""
    costs = [_cost(row, sweep) for row in tied.to_dict("records")]
    return sorted(range(len(costs)), key=costs.__getitem__)


def _cost(row: Mapping[Any, Any], sweep: SweepRecord) -> tuple[float, ...]:
    """Return the share of the machine that a config takes, then its distance to the baseline."""
    ranks = max(_number(row.get("params.ranks")), 1.0)
    taken = {name: _number(row.get(f"params.{name}")) for name in COST_KNOBS}
    taken["num_workers"] *= ranks
    if taken["threads"] <= 0:  # the library's own choice: all the cores there are
        taken["threads"] = _number(row.get("cores"))
    on_gpu = float(text_of(row.get("device")) not in ("", "cpu"))
    memory = [_number(row.get(f"metrics.peak_{kind}_gib")) for kind in ("gpu", "rss")]
    config = config_of(row, sweep)
    num_changed = sum(config.get(knob) != as_plain(value) for knob, value in sweep.baseline.items())
    # Memory to a tenth of a GiB: less than that is no reason to prefer a config.
    return (on_gpu, *(taken[k] for k in COST_KNOBS), *(round(m, 1) for m in memory), num_changed)


def _number(cell: Any) -> float:  # noqa: ANN401 - a cell of any type
    """Return the cell as a number; 0 where it is empty, absent or a word."""
    number = pd.to_numeric(cell, errors="coerce")
    return 0.0 if number is None or pd.isna(number) else float(number)
