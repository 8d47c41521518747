"""The first sentence of an answer, and the status that goes with it."""

from __future__ import annotations

from enum import StrEnum

import pandas as pd

from orchestrator.analysis.answer.accuracy import Difference
from orchestrator.analysis.answer.changes import changes_of, named
from orchestrator.analysis.columns import rows_of, same_config
from orchestrator.analysis.recommendation.choice import Choice, confirmed_configs
from orchestrator.analysis.recommendation.recommend import Recommendation
from orchestrator.analysis.recommendation.sentences import reasons_not_known, taken_by
from orchestrator.analysis.recommendation.speedup import Speedup, speed_up
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.rule_words import held_by
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import counted, percent, shown_difference
from orchestrator.metrics import OF_THE_TARGET, Goal, is_accuracy
from orchestrator.rules import RuleKind
from orchestrator.trial import TrialState


class Status(StrEnum):
    """Result of a run, in the words of page and terminal."""

    CONFIRMED = "confirmed"
    TIE = "tie: the baseline stays"
    NOT_CONFIRMED = "not confirmed"
    NOTHING = "nothing to recommend"


def lead_of(
    tables: RunTables, recommendation: Recommendation, difference: Difference | None
) -> tuple[Status, str]:
    """Return the status of a run and its answer in one sentence, without a full stop."""
    choice = recommendation.choice
    if choice is None:
        return Status.NOTHING, f"no settings can be recommended: {recommendation.why}"
    if same_config(choice.config, tables.sweep.baseline):
        return _of_baseline(choice, tables)
    speedup, rule = choice.speedup, tables.rule
    name = named(changes_of(choice.config, tables))
    accuracy = accuracy_clause(difference, recommendation)
    if speedup.leads:
        falls_short = choice.slower is not None and rule.how.kind is RuleKind.FASTEST_WITHIN
        why = "; the baseline falls short of the rule" if falls_short else ""
        return Status.CONFIRMED, f"{name} {times_as_fast(speedup, rule)}{accuracy}{why}"
    if speedup.is_known and speedup.is_tie:
        like = f"{name} {_verb(rule)} as {_fast(rule)} as the baseline within "
        return Status.CONFIRMED, f"{like}{percent(rule.tie_margin)}{_ends(speedup)}{accuracy}"
    why = next(iter(reasons_not_known(speedup, tables)), "")
    if speedup.is_shown or speedup.is_slower:
        way = "faster" if speedup.is_shown else "slower"
        return Status.CONFIRMED, (
            f"{name} is {way} than the baseline{accuracy}; how many times as fast is not known: "
            f"{why}"
        )
    among = ""
    if choice.selection.state is not TrialState.COMPLETED:
        among = " among trainings that did not come to their end"
    return Status.NOT_CONFIRMED, f"{name} was selected{among}; its speed-up is not known: {why}"


def times_as_fast(speedup: Speedup, rule: Rule) -> str:
    """Return ``trains 1.34 times as fast as the baseline (1.22 to 1.47)``."""
    like = f"as {_fast(rule)} as the baseline"
    if not rule.is_of_speed:
        like += f" in {rule.speed.metric}"
    return f"{_verb(rule)} {speedup.ratio:.2f} times {like}{_ends(speedup)}"


def accuracy_clause(difference: Difference | None, recommendation: Recommendation) -> str:
    """Return ``" and is 2.5 points more accurate"``; "" where nothing was learned.

    Of the runs that selected the config it is so ``in the search``.
    """
    objective = recommendation.rule.accuracy
    metric = objective.metric
    if objective is recommendation.rule.speed or pd.isna(recommendation.figures.get(metric)):
        return ""
    what = "accuracy" if is_accuracy(metric) else metric
    if difference is None:
        return f"; the difference in {what} is not known"
    size = shown_difference(metric, float(f"{abs(difference.centre):.2g}"))
    where = " in the search" if difference.selected else ""
    if difference.is_better or difference.is_worse:
        joined = "and" if difference.is_better else "but"
        if is_accuracy(metric) and objective.goal is Goal.MAXIMIZE:
            way = "more" if difference.is_better else "less"
            return f" {joined} is {size} {way} accurate{where}"
        way = "higher" if difference.centre > 0 else "lower"
        return f" {joined} its {metric} is {size} {way}{where}"
    if difference.is_none:
        size = shown_difference(metric, difference.tolerance)
        alike = "is as accurate" if is_accuracy(metric) else f"has the same {metric}"
        within = f" within {size}" if difference.tolerance else ""
        return f" and {alike}{within}{where}"
    return f"; no difference in {what} is shown"


def _of_baseline(choice: Choice, tables: RunTables) -> tuple[Status, str]:
    """Return what is said where the baseline is the config to use."""
    rule = tables.rule
    if choice.rejected is not None and choice.against is not None:
        name = named(changes_of(choice.rejected, tables))
        if choice.against.leads:
            text = f"{name} {times_as_fast(choice.against, rule)}"
            return Status.CONFIRMED, f"the baseline stays: {text}"
        if choice.slower is not None:
            return Status.CONFIRMED, f"the baseline stays: {name} is slower"
        return Status.TIE, (
            f"the baseline stays: {name} {_verb(rule)} as {_fast(rule)} within "
            f"{percent(rule.tie_margin)}{_ends(choice.against)}"
        )
    if choice.selection.num_configs < 2:
        trials = tables.searched
        no_other = bool(rows_of(trials, tables.sweep.baseline).all())
        how = "was tried" if no_other else "completed"
        return Status.NOT_CONFIRMED, f"the baseline stays: no other config {how}"
    if rule.how.kind is not RuleKind.FASTEST_WITHIN:
        configs = counted(choice.selection.num_configs, "config")
        return Status.NOT_CONFIRMED, f"the baseline stays: of {configs} {taken_by(rule)}"
    others = [speed_up(tables, config) for config in confirmed_configs(tables)]
    of, better = choice.selection, "faster" if rule.is_of_speed else "better"
    if not others or not all(each.is_known and each.is_decided for each in others):
        reason = f"of {of.num_configs:,} configs no other one was {better}"
        if of.num_accurate < of.num_configs:
            reason += f" and {held_by(rule)}"
        return Status.NOT_CONFIRMED, f"the baseline stays: {reason} in the search"
    one = "the one config that was run again was not"
    which = (
        one if len(others) == 1 else f"none of the {len(others)} configs that were run again was"
    )
    status = Status.TIE if any(each.is_tie for each in others) else Status.CONFIRMED
    return status, f"the baseline stays: {which} {better} in the confirm runs"


def _verb(rule: Rule) -> str:
    if rule.speed.metric in OF_THE_TARGET:
        return "reaches the target"
    return "trains" if rule.is_of_speed else "is"


def _fast(rule: Rule) -> str:
    return "fast" if rule.is_of_speed else "good"


def _ends(speedup: Speedup) -> str:
    return f" ({speedup.low:.2f} to {speedup.high:.2f})"
