"""Which config the searching runs speak for. Light: the driver asks before it confirms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from analysis.columns import Config, as_plain, config_of, configs_of, text_of
from analysis.comparable import GROUP, group_notes, main_group, with_groups
from analysis.rule import Rule, rule_of, unreported
from analysis.statistics.against_best import Verdict, against_best
from analysis.statistics.by_config import by_config
from analysis.wording import label, percent, shown
from orchestrator.trial import Stage, TrialState

COST_KNOBS: Final = ("gpus", "num_gpus", "ranks", "num_workers", "threads")
"""Knobs that take something of the machine, the dearest first."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The config that the searching runs speak for.

    Attributes:
        config: A value for every knob in plain Python, or None where nothing can be said.
        why: In words; where there is no config, the reason.
        rule: The rule it was selected by.
        tied: Configs as fast by their figures within the rule's margin and not shown to be
            slower, none of them cheaper.
        unresolved: Configs that are slower by more than the margin and whose intervals
            reach into it: more repeats could tell.
        contenders: Configs that may be as good, the fastest first: those of ``tied`` and of
            ``unresolved``.
        row: The config's row in :func:`~analysis.statistics.against_best.against_best`, or None.
        notes: What weakens the choice, a sentence each.
    """

    config: Config | None
    why: str
    rule: Rule
    tied: tuple[Config, ...] = ()
    unresolved: tuple[Config, ...] = ()
    contenders: tuple[Config, ...] = ()
    row: Mapping[Any, Any] | None = None
    notes: tuple[str, ...] = ()


def select(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> Selection:
    """Selects a config from the runs of stage ``train``, by validation data alone.

    Args:
        trials: The trials table; rows of other stages are passed over.
        sweep: What ``sweep.json`` holds.

    Raises:
        SweepError: The sweep's objectives state no rule (see :func:`rule_of`).
    """
    rule = rule_of(sweep)
    # What confirms must not select: not even by the noise that it shows.
    searched = with_groups(trials[trials["stage"] != Stage.CONFIRM], sweep)
    configs, notes = _candidates(searched, sweep, rule)
    if configs.empty:
        return Selection(config=None, why=_why_none(trials, sweep, rule), rule=rule)
    accurate = configs[configs["verdict"] != ""]
    by_speed = accurate.sort_values("ratio_to_best", ascending=False, kind="stable")
    is_close = by_speed["ratio_to_best"] >= 1 - rule.tie_margin
    tied = by_speed[is_close & (by_speed["verdict"] != Verdict.WORSE)]
    cheapest = tied.iloc[_order_by_cost(tied, sweep)]
    choice = cheapest.iloc[0].to_dict()
    unresolved = _unresolved(by_speed[~is_close], by_speed.iloc[0], rule)
    contenders = by_speed.loc[by_speed.index.isin([*cheapest.index[1:], *unresolved.index])]
    return Selection(
        config=config_of(choice, sweep),
        why=_why(choice, configs, accurate, by_speed.iloc[0].to_dict(), rule, sweep),
        rule=rule,
        tied=tuple(configs_of(cheapest.iloc[1:], sweep)),
        unresolved=tuple(configs_of(unresolved, sweep)),
        contenders=tuple(configs_of(contenders, sweep)),
        row=choice,
        notes=(*notes, *group_notes(searched, sweep)),
    )


def _candidates(
    searched: pd.DataFrame, sweep: Mapping[str, Any], rule: Rule
) -> tuple[pd.DataFrame, list[str]]:
    """Configs that were trained to the end; those that were stopped where there are none.

    Of the main group alone, compared with the best of it.
    """
    needed = [rule.speed_column, rule.accuracy_column]
    if not set(needed) <= set(searched.columns):
        return searched.iloc[:0], []
    main = main_group(searched, sweep)
    for states in ([TrialState.COMPLETED], [TrialState.STOPPED]):
        configs = by_config(searched, stage=Stage.TRAIN, states=states, speed=rule.speed.metric)
        configs = configs[configs[GROUP] == main].dropna(subset=needed)
        if not configs.empty:
            break
    stopped = not configs.empty and states == [TrialState.STOPPED]
    notes = ["no trial trained its whole budget: chosen among stopped ones"] * stopped
    return against_best(configs, rule), notes


def _unresolved(slower: pd.DataFrame, best: pd.Series[Any], rule: Rule) -> pd.DataFrame:
    """Configs outside the margin that may yet lie within it.

    Where nothing was run twice their own intervals speak, for want of better.
    """
    is_known = slower["variance"].notna()
    better_end = slower[f"{rule.speed_column}_{'high' if rule.speed.sign > 0 else 'low'}"]
    reaches = rule.ratios(better_end, float(best[rule.speed_column])) >= 1 - rule.tie_margin
    return slower[(slower["verdict"] == Verdict.UNRESOLVED).where(is_known, reaches)]


def _order_by_cost(tied: pd.DataFrame, sweep: Mapping[str, Any]) -> list[int]:
    """Positions of the rows, the cheapest first; the fastest first among equals."""
    costs = [_cost(row, sweep) for row in tied.to_dict("records")]
    return sorted(range(len(costs)), key=costs.__getitem__)


def _cost(row: Mapping[Any, Any], sweep: Mapping[str, Any]) -> tuple[float, ...]:
    """What a config takes of the machine, then how far it is from the baseline."""
    ranks = max(_number(row.get("params.ranks")), 1.0)
    taken = {name: _number(row.get(f"params.{name}")) for name in COST_KNOBS}
    taken["num_workers"] *= ranks
    if taken["threads"] <= 0:  # the library's own choice: all the cores there are
        taken["threads"] = _number(row.get("cores"))
    on_gpu = float(text_of(row.get("device")) not in ("", "cpu"))
    memory = [_number(row.get(f"metrics.peak_{kind}_gib")) for kind in ("gpu", "rss")]
    config, baseline = config_of(row, sweep), sweep.get("baseline", {})
    num_changed = sum(config.get(knob) != as_plain(value) for knob, value in baseline.items())
    # Memory to a tenth of a GiB: less than that is no reason to prefer a config.
    return (on_gpu, *(taken[k] for k in COST_KNOBS), *(round(m, 1) for m in memory), num_changed)


def _number(cell: Any) -> float:  # noqa: ANN401 - a cell of any type
    """The cell as a number; 0 where it is empty, absent or a word."""
    number = pd.to_numeric(cell, errors="coerce")
    return 0.0 if number is None or pd.isna(number) else float(number)


def _why(
    choice: Mapping[Any, Any],
    configs: pd.DataFrame,
    accurate: pd.DataFrame,
    fastest: Mapping[Any, Any],
    rule: Rule,
    sweep: Mapping[str, Any],
) -> str:
    speed, accuracy = rule.speed.metric, rule.accuracy.metric
    best = rule.best_accuracy(configs[rule.accuracy_column])
    said = (
        f"in the runs that selected it {shown(speed, choice[rule.speed_column])} at {accuracy} "
        f"{shown(accuracy, choice[rule.accuracy_column])}; the best is {shown(accuracy, best)} "
        f"(configs close enough to it: {len(accurate):,} of {len(configs):,})"
    )
    if choice["trial_ids"] == fastest["trial_ids"]:
        return said + "; of these it is the fastest"
    other = label(config_of(fastest, sweep), sweep)
    figure, margin = shown(speed, fastest[rule.speed_column]), percent(rule.tie_margin)
    if choice["verdict"] == Verdict.TIED:
        return f"{said}; shown to be as fast within {margin} as {other} ({figure}), and not dearer"
    return (
        f"{said}; its speed is within {margin} of that of {other} ({figure}), and it is not dearer"
    )


def _why_none(trials: pd.DataFrame, sweep: Mapping[str, Any], rule: Rule) -> str:
    of_stage = trials[trials["stage"] == Stage.TRAIN]
    if of_stage.empty:
        return "no trial was trained to accuracy"
    ended = of_stage["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])
    if ended.any():
        names = (rule.speed.metric, rule.accuracy.metric)
        missing = [name for name in unreported(of_stage[ended], sweep) if name in names]
        if missing:
            return f"no completed trial has reported {' and '.join(missing)}"
        return f"no completed trial has both {' and '.join(names)}"
    counts = ", ".join(f"{n} {state}" for state, n in of_stage["state"].value_counts().items())
    reasons = of_stage["reason"].value_counts()
    most = f"; most often: {reasons.index[0]}" if len(reasons) else ""
    return f"no trial completed ({counts}{most})"
