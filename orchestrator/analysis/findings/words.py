"""The answer of a run in words: its status, its first sentence, and how sure that is.

A text is a clause without a full stop, for a page, a terminal, Markdown and MLflow alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

import pandas as pd

from orchestrator.analysis.findings.answer_figures import Difference
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.speedup import Speedup, speed_up
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import shown, shown_difference
from orchestrator.formats import counted, listed, percent
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Goal, is_accuracy
from orchestrator.rules import RuleKind
from orchestrator.space.configs import changed_knobs, format_value, same_config
from orchestrator.space.knob import Role
from orchestrator.trial import TrialState

MOST_NAMED: Final = 4
"""A sentence names no more settings than these."""
_STAYS: Final = "the baseline stays"


class Marked(StrEnum):
    """A text with the symbol and the class of style that mark it on a page."""

    symbol: str
    style: str

    def __new__(cls, text: str, symbol: str, style: str) -> Self:
        """Return a member with its value and its mark."""
        member = str.__new__(cls, text)
        member._value_, member.symbol, member.style = text, symbol, style
        return member


class Status(Marked):
    """Result of a run, in the words of page and terminal."""

    CONFIRMED = "confirmed", "✔", "good"
    TIE = "tie: the baseline stays", "=", "even"
    NOT_CONFIRMED = "not confirmed", "?", "open"
    NOTHING = "nothing to recommend", "\N{EN DASH}", "none"

    @property
    def is_shown(self) -> bool:
        """True where the runs show what the answer's sentence states."""
        return self is Status.CONFIRMED


@dataclass(frozen=True, kw_only=True)
class Change:
    """A changed knob: its recommended and its baseline's value, as ``--set`` takes them."""

    knob: str
    value: str
    baseline: str


def changes_of(config: Mapping[str, object], tables: RunTables) -> tuple[Change, ...]:
    """Return the knobs that differ from the baseline's, those that change the speed first."""
    baseline, roles = tables.sweep.baseline, tables.roles
    changes = [
        Change(knob=name, value=format_value(config[name]), baseline=format_value(baseline[name]))
        for name in changed_knobs(config, baseline)
    ]
    return tuple(sorted(changes, key=lambda change: roles.get(change.knob) is Role.LEARNING))


def named(changes: Sequence[Change]) -> str:
    """Return ``batch_size 2000 with lr 0.02 and num_workers 8``; "the baseline" without any."""
    if not changes:
        return "the baseline"
    most = changes if len(changes) <= MOST_NAMED else changes[: MOST_NAMED - 1]
    first, *others = (f"{change.knob} {change.value}" for change in most)
    if len(most) < len(changes):
        others.append(counted(len(changes) - len(most), "more setting"))
    return f"{first} with {listed(others, 'and')}" if others else first


def answer_of(
    choice: Choice, tables: RunTables, clause: str, unknown: Sequence[str]
) -> tuple[Status, str]:
    """Return the status of a run with a config to recommend, and the answer's sentence.

    Args:
        choice: The config to use.
        tables: The run.
        clause: From :func:`accuracy_clause`.
        unknown: Why the speed-up does not lead.
    """
    if same_config(choice.config, tables.sweep.baseline):
        return _of_baseline(choice, tables)
    rule, speedup = tables.rule, choice.speedup
    name = named(changes_of(choice.config, tables))
    if speedup.is_known and speedup.is_decided:
        is_short = choice.is_slower and rule.how.kind is RuleKind.FASTEST_WITHIN
        short = "; the baseline falls short of the rule" if is_short else ""
        return Status.CONFIRMED, f"{name} {_times_as_fast(speedup, rule)}{clause}{short}"
    reason = "".join(unknown[:1])
    if speedup.is_shown or speedup.is_slower:
        way = "faster" if speedup.is_shown else "slower"
        start = f"{name} is {way} than the baseline{clause}"
        return Status.CONFIRMED, f"{start}; how many times as fast is not known: {reason}"
    ended = choice.selection.state is TrialState.COMPLETED
    among = "" if ended else " among trainings that did not come to their end"
    return Status.NOT_CONFIRMED, f"{name} was selected{among}; its speed-up is not known: {reason}"


def _of_baseline(choice: Choice, tables: RunTables) -> tuple[Status, str]:
    """Return the status and the sentence if the baseline is the config to use."""
    rule, against = tables.rule, choice.against
    if choice.rejected is not None and against is not None:
        start = f"{_STAYS}: {named(changes_of(choice.rejected, tables))}"
        if against.leads:
            return Status.CONFIRMED, f"{start} {_times_as_fast(against, rule)}"
        if choice.is_slower:
            return Status.CONFIRMED, f"{start} is slower"
        return Status.TIE, f"{start} {_times_as_fast(against, rule)}"
    others = [speed_up(tables, config) for config in tables.compared]
    if not others or not all(each.is_known and each.is_decided for each in others):
        configs = counted(choice.selection.num_configs, "config")
        return Status.NOT_CONFIRMED, f"{_STAYS}: the search selected it out of {configs}"
    status = Status.TIE if any(each.is_tie for each in others) else Status.CONFIRMED
    better = rule.fast[1]
    return status, f"{_STAYS}: no config that was run again was {better} in the confirm runs"


def accuracy_clause(rule: Rule, figures: Mapping[str, float], difference: Difference | None) -> str:
    """Return ``" and is 2.5 points more accurate"``; "" where nothing was learned.

    For the runs that selected the config it ends in ``in the search``.
    """
    objective = rule.accuracy
    metric = objective.metric
    if objective is rule.speed or pd.isna(figures.get(metric)):
        return ""
    what = "accuracy" if is_accuracy(metric) else metric
    if difference is None:
        return f"; the difference in {what} is not known"
    size = shown_difference(metric, float(f"{abs(difference.centre):.2g}"))
    where = " in the search" if difference.selected else ""
    if difference.way:
        joined = "and" if difference.way > 0 else "but"
        if is_accuracy(metric) and objective.goal is Goal.MAXIMIZE:
            way = "more" if difference.way > 0 else "less"
            return f" {joined} is {size} {way} accurate{where}"
        way = "higher" if difference.centre > 0 else "lower"
        return f" {joined} its {metric} is {size} {way}{where}"
    if difference.is_none:
        size = shown_difference(metric, difference.tolerance)
        alike = "is as accurate" if is_accuracy(metric) else f"has the same {metric}"
        return f" and {alike}{f' within {size}' if difference.tolerance else ''}{where}"
    return f"; no difference in {what} is shown"


def others_clause(
    rule: Rule, figures: Mapping[str, float], baseline: Mapping[str, float] | None
) -> str:
    """Return ``"; peak_rss_gib 1.95 GiB (baseline 0.9 GiB)"``, a clause each further objective."""
    clauses = []
    for objective in rule.others:
        own, its = (of.get(objective.metric) for of in (figures, baseline or {}))
        beside = "" if pd.isna(its) else f" (baseline {shown(objective.metric, its)})"
        if not pd.isna(own):
            clauses.append(f"; {objective.metric} {shown(objective.metric, own)}{beside}")
    return "".join(clauses)


def how_sure(speedup: Speedup, unknown: Sequence[str], rule: Rule) -> str:
    """Return a speed-up with its evidence, or why it is open: ``unknown``."""
    if speedup.is_same:
        return "it is the baseline itself"
    if not (speedup.leads or (speedup.is_known and speedup.is_tie)):
        return f"speed-up not known: {'; '.join(unknown)}"
    evidence = f"with 95 % confidence, over {speedup.pairs_text}"
    if speedup.num_left_out:
        num = counted(speedup.num_left_out, "pair")
        evidence += f"; {num} left out, contaminated or under other conditions"
    return f"it {_times_as_fast(speedup, rule)} {evidence}"


def _times_as_fast(speedup: Speedup, rule: Rule) -> str:
    """Return ``trains 1.34 times as fast as the baseline (1.22 to 1.47)``.

    For a ratio that does not lead, a tie: ``trains as fast as the baseline within 2 % (...)``.
    """
    times, of = "", f" within {percent(rule.tie_margin)}"
    if speedup.leads:
        times = f"{speedup.ratio:.2f} times "
        of = "" if rule.is_of_speed else f" in {rule.speed.metric}"
    verb = "trains" if rule.is_of_speed else "is"
    if rule.speed.metric in OF_THE_TARGET:
        verb = "reaches the target"
    ends = f"({speedup.low:.2f} to {speedup.high:.2f})"
    return f"{verb} {times}as {rule.fast[0]} as the baseline{of} {ends}"
