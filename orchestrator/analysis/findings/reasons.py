"""Reasons in words: for the config, for none."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orchestrator.analysis.columns import numbers_of, text_of
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.selection import Selection
from orchestrator.analysis.rule import Rule, best_of, column_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import condition_text, format_config, shown, states_text
from orchestrator.formats import counted, percent
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import batches_hint
from orchestrator.rules import RuleKind
from orchestrator.texts import cause, first_line
from orchestrator.trial import Stage, TrialState


def why_chosen(choice: Choice, tables: RunTables) -> str:
    """Return the reason for the config that is recommended."""
    selection, rule, sweep = choice.selection, tables.rule, tables.sweep
    fast, _, best = rule.fast
    if choice.rejected is not None:
        about = f"is as {fast} within the margin of a tie, and not cheaper"
        if choice.is_slower:
            about = "looked faster in the runs that selected it and is slower"
        return f"the baseline; {format_config(choice.rejected, sweep)} {about}"
    if choice.finalist is not None:
        other = format_config(selection.config or {}, sweep)
        pairs = choice.finalist.pairs_text
        return f"the fastest of the finalists, over {pairs}; {other} was selected before"
    start = f"in the runs that selected it {_selected_by(selection, rule)}"
    match rule.how.kind:
        case RuleKind.KNEE:
            return f"{start}; it is the knee of the front"
        case RuleKind.WEIGHTED:
            return f"{start}; its weighted sum is the largest"
        case RuleKind.FUNCTION:
            return f"{start}; the sweep's function {rule.how.name} chose it"
    if (selection.row or {})["ratio_to_best"] == 1:
        return f"{start}; of these it is the {best}"
    return f"{start}; within {percent(rule.tie_margin)} of the {best}, and not dearer"


def _selected_by(selection: Selection, rule: Rule) -> str:
    """Return the figures of the selected config, the conditions, and how many configs meet them."""
    row: Mapping[Any, Any] = selection.row or {}
    others = rule.objectives[1:]
    own = " and ".join(f"{o.metric} {shown(o.metric, row[column_of(o)])}" for o in others)
    figures = shown(rule.speed.metric, row[rule.speed_column]) + (f" at {own}" if own else "")
    if not rule.is_of_speed:
        figures = f"{rule.speed.metric} {figures}"
    if not rule.conditions:
        return f"{figures} (of {counted(selection.num_configs, 'config')})"
    asked = ", ".join(condition_text(objective) for objective in rule.conditions)
    acceptable = f"{selection.num_accurate:,} of {counted(selection.num_configs, 'config')}"
    return f"{figures}; asked for: {asked} ({acceptable})"


def why_none(selection: Selection, tables: RunTables) -> str:
    """Return the reason why no config can be recommended."""
    if selection.refusal:
        return selection.refusal
    if selection.num_configs:
        texts = [
            f"{condition_text(o)} (the best: {shown(o.metric, selection.best[o.metric])})"
            for o in tables.rule.objectives
            if o.bound is not None
        ]
        num = counted(selection.num_configs, "config")
        return f"none of {num} holds: {' and '.join(texts)}"
    of_stage = tables.grouped[tables.grouped["stage"] == Stage.TRAIN]
    if of_stage.empty:
        return "no trial was trained"
    ended = of_stage[of_stage["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    if len(ended):
        return _why_unmeasured(ended, tables.rule)
    return f"no trial completed ({states_text(of_stage)}{most_often(of_stage['reason'])})"


def most_often(reasons: "pd.Series[str]") -> str:
    """Return ``; most often: out of memory``, the first line of the most frequent; "" for none."""
    texts = reasons.map(text_of)
    causes = texts.map(cause)
    often = first_line(texts[causes == causes.mode().iloc[0]].iloc[0]) if len(texts) else ""
    return f"; most often: {often}" if often else ""


def _why_unmeasured(ended: pd.DataFrame, rule: Rule) -> str:
    """Return why none of some trials that ended has every objective."""
    asked = rule.objectives
    missing = [o.metric for o in asked if numbers_of(ended, column_of(o)).isna().all()]
    if rule.target is not None and set(missing) & set(OF_THE_TARGET):
        figures = numbers_of(ended, column_of(rule.target)).dropna()
        text = f"no completed trial reached the target: {condition_text(rule.target)}"
        if len(figures):
            best = best_of(rule.target, figures)
            text += f" (the best: {shown(rule.target.metric, best)})"
        return text
    names = missing or [objective.metric for objective in asked]
    return f"no completed trial has reported {' and '.join(names)}{batches_hint(missing)}"
