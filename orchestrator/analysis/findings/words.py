"""The findings of a run in sentences: its answer, why, and how sure that is.

A text is a clause without a full stop, for a page, a terminal, Markdown and MLflow alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.findings.codes import Lead, Reason
from orchestrator.analysis.findings.findings import Change, Findings
from orchestrator.analysis.findings.reason_words import reason
from orchestrator.analysis.recommendation.pairs import Pairs, interim_analyses
from orchestrator.analysis.recommendation.speedup import Basis, Speedup
from orchestrator.analysis.rule import Rule, column_of
from orchestrator.analysis.rule_words import condition_text, held_by, times_baseline
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import (
    counted,
    format_config,
    percent,
    shown,
    shown_difference,
)
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Goal, is_accuracy
from orchestrator.rules import RuleKind
from orchestrator.trial import TrialState

MOST_NAMED: Final = 4
"""A sentence names no more settings than these."""
_NOUNS: Final = {
    "gpus": "GPU", "num_gpus": "GPU", "ranks": "rank", "num_workers": "worker",
    "workers": "worker", "threads": "thread",
}  # fmt: skip


def sentence(found: Findings) -> str:
    """Return the answer of a run."""
    rule, choice, lead = found.rule, found.choice, found.lead
    if choice is None:
        return f"no settings can be recommended: {why(found)}"
    speedup, better = choice.speedup, "faster" if rule.is_of_speed else "better"
    as_fast = f"{_verb(rule)} as {_fast(rule)}"
    within = percent(rule.tie_margin)
    name, stays = named(lead.figures.get("changes", found.changes)), "the baseline stays"
    match lead.code:
        case Lead.TIMES:
            short = "; the baseline falls short of the rule" if lead["baseline_is_short"] else ""
            return f"{name} {_times_as_fast(speedup, rule)}{accuracy_clause(found)}{short}"
        case Lead.AS_FAST:
            tie = f"{as_fast} as the baseline within {within}{_ends(speedup)}"
            return f"{name} {tie}{accuracy_clause(found)}"
        case Lead.FASTER | Lead.SLOWER:
            way = "faster" if lead.code is Lead.FASTER else "slower"
            start = f"{name} is {way} than the baseline{accuracy_clause(found)}"
            return f"{start}; how many times as fast is not known: {reason(found.unknown[0], rule)}"
        case Lead.SELECTED:
            ended = choice.selection.state is TrialState.COMPLETED
            among = "" if ended else " among trainings that did not come to their end"
            because = "".join(reason(one, found.rule) for one in found.unknown[:1])
            return f"{name} was selected{among}; its speed-up is not known: {because}"
        case Lead.STAYS_TIMES:
            assert choice.against is not None
            return f"{stays}: {name} {_times_as_fast(choice.against, rule)}"
        case Lead.STAYS_SLOWER:
            return f"{stays}: {name} is slower"
        case Lead.STAYS_TIE:
            assert choice.against is not None
            return f"{stays}: {name} {as_fast} within {within}{_ends(choice.against)}"
        case Lead.STAYS_ALONE:
            return f"{stays}: no other config {'was tried' if lead['is_only'] else 'completed'}"
        case Lead.STAYS_BY_RULE:
            return f"{stays}: of {counted(found.selection.num_configs, 'config')} {_taken_by(rule)}"
        case Lead.STAYS_IN_SEARCH:
            searched = found.selection
            some_are_not = searched.num_accurate < searched.num_configs
            held = f" and {held_by(rule)}" if some_are_not else ""
            of = f"of {searched.num_configs:,} configs no other one was"
            return f"{stays}: {of} {better}{held} in the search"
    which = "the one config that was run again was not"
    if lead["num"] > 1:
        which = f"none of the {lead['num']} configs that were run again was"
    return f"{stays}: {which} {better} in the confirm runs"


def named(changes: Sequence[Change]) -> str:
    """Return ``batch_size 2000 with lr 0.02 and num_workers 8``; "the baseline" without any."""
    if not changes:
        return "the baseline"
    most = changes if len(changes) <= MOST_NAMED else changes[: MOST_NAMED - 1]
    first, *others = (f"{change.knob} {change.value}" for change in most)
    if len(most) < len(changes):
        others.append(counted(len(changes) - len(most), "more setting"))
    if not others:
        return first
    *middle, last = others
    return f"{first} with {', '.join(middle)} and {last}" if middle else f"{first} with {last}"


def accuracy_clause(found: Findings) -> str:
    """Return ``" and is 2.5 points more accurate"``; "" where nothing was learned.

    For the runs that selected the config it ends in ``in the search``.
    """
    objective, difference = found.rule.accuracy, found.difference
    metric = objective.metric
    if objective is found.rule.speed or pd.isna(found.figures.get(metric)):
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
        return f" and {alike}{f' within {size}' if difference.tolerance else ''}{where}"
    return f"; no difference in {what} is shown"


def why(found: Findings) -> str:
    """Return the reason for the config, or for none."""
    choice, rule, code = found.choice, found.rule, found.why.code
    if choice is None:
        return reason(found.why, rule)
    if code is Reason.NOT_FASTER:
        assert choice.against is not None
        assert choice.rejected is not None
        about = f"is as {_fast(rule)} within the margin of a tie, and not cheaper"
        if choice.is_slower:
            about = "looked faster in the runs that selected it and is slower"
        shows = speedup_text(found, choice.against).removeprefix(_NOT_KNOWN)
        return f"the baseline; {format_config(choice.rejected, found.sweep)} {about}: {shows}"
    if code is Reason.FINALIST:
        return _why_finalist(found)
    start = f"in the runs that selected it {_selected_by(found)}"
    if code is Reason.BY_RULE:
        return f"{start}; {_taken_by(rule)}"
    best = "fastest" if rule.is_of_speed else "best"
    if code is Reason.FASTEST:
        return f"{start}; of these it is the {best}"
    other = format_config(found.why["than"], found.sweep)
    speed = shown(rule.speed.metric, found.why["speed"])
    cheaper = _cheaper_text(found.why["cost"])
    return (
        f"{start}; within {percent(rule.tie_margin)} of the {best}, {other} ({speed})"
        f"{f', and {cheaper}' if cheaper else ''}"
    )


def _why_finalist(found: Findings) -> str:
    assert found.choice is not None
    assert found.choice.finalist is not None
    pairs = found.choice.finalist.pairs
    interval = pairs.interval
    other = format_config(found.selection.config or {}, found.sweep)
    if not is_narrow(interval.low, interval.high):
        return (
            f"the fastest of the finalists: faster than {other}, which was selected before, "
            f"in {_pairs_text(pairs)}; by how much is not known"
        )
    return (
        f"the fastest of the finalists: {interval.centre:.2f}x the speed of {other}, which was "
        f"selected before, 95 % interval {interval.low:.2f}x to {interval.high:.2f}x over "
        f"{_pairs_text(pairs)}"
    )


def _selected_by(found: Findings) -> str:
    """Return the figures of the selected config, the best of each, and how many hold the rule."""
    selection, rule = found.selection, found.rule
    row: Mapping[Any, Any] = selection.row or {}
    others = [objective for objective in rule.objectives if objective is not rule.speed]
    own = " and ".join(f"{o.metric} {shown(o.metric, row[column_of(o)])}" for o in others)
    figures = shown(rule.speed.metric, row[rule.speed_column]) + (f" at {own}" if own else "")
    if not rule.is_of_speed:
        figures = f"{rule.speed.metric} {figures}"
    if not rule.conditions:
        return f"{figures} (of {counted(selection.num_configs, 'config')})"
    held = f"{selection.num_accurate:,} of {selection.num_configs:,})"
    if rule.conditions == tuple(others) and len(others) == 1 and others[0].bound is None:
        best = shown(others[0].metric, selection.best[others[0].metric])
        return f"{figures}; the best is {best} (configs close enough to it: {held}"
    asked = ", ".join(condition_text(objective) for objective in rule.conditions)
    return f"{figures}; asked for: {asked} (configs that hold this: {held}"


def _taken_by(rule: Rule) -> str:
    match rule.how.kind:
        case RuleKind.KNEE:
            return "it is the knee of the front"
        case RuleKind.WEIGHTED:
            return "its weighted sum is the largest"
        case _:
            return f"the sweep's function {rule.how.name} chose it"


def _cheaper_text(cost: tuple[str, float, float] | None) -> str:
    """Return ``needs 0 workers instead of 8``; "" where the two cost the same."""
    if cost is None:
        return ""
    name, own, its = cost
    if name == "device":
        return "needs no GPU" if own < its else "needs a GPU"
    if name == "settings" and not own:
        return "it is the baseline"
    if name == "settings":
        return f"changes {own:g} of the baseline's settings instead of {its:g}"
    if name in _NOUNS:
        return f"needs {counted(int(own), _NOUNS[name])} instead of {its:g}"
    metric = f"peak_{name}_gib" if name in ("gpu", "rss") else name
    return f"has {metric} {shown(metric, own)} instead of {shown(metric, its)}"


_NOT_KNOWN: Final = "speed-up not known: "


def speedup_text(found: Findings, speedup: Speedup) -> str:
    """Return a speed-up of the findings with what it rests on, or why it is not known."""
    if speedup.basis is Basis.SAME:
        return "it is the baseline itself"
    if not speedup.is_known or speedup.pairs is None:
        return _NOT_KNOWN + "; ".join(reason(one, found.rule) for one in found.unknown)
    pairs, searching, interval = speedup.pairs, speedup.searching_ratio, speedup.pairs.interval
    planned = interim_analyses(found.sweep).first
    extended = f" (extended from {planned})" if len(pairs) > planned else ""
    out = f"; {counted(pairs.num_left_out, 'pair')} left out: a run of it was contaminated"
    elsewhere = f"; {counted(pairs.num_elsewhere, 'pair')} under other conditions left out"
    return (
        f"{times_baseline(found.rule, f'{interval.centre:.2f}')}, 95 % interval "
        f"{interval.low:.2f}x to {interval.high:.2f}x, over {_pairs_text(pairs)}{extended}"
        f"{out if pairs.num_left_out else ''}{elsewhere if pairs.num_elsewhere else ''}"
        f"{'' if searching is None else f'; {searching:.2f}x in the runs that selected it'}"
    )


def why_speedup_not_known(found: Findings) -> str:
    """Return why the speed-up does not lead, the gravest reason first.

    "" where it does, and where the baseline is recommended.
    """
    return "" if found.is_baseline else "; ".join(reason(one, found.rule) for one in found.unknown)


def how_sure(found: Findings) -> str:
    """Return what the speed-up rests on, and if it exceeds the noise."""
    speedup, noise = found.speedup, found.noise
    if speedup is None:
        return "nothing is recommended"
    text = speedup_text(found, speedup)
    if not speedup.is_known:
        return text
    if speedup.is_tie or speedup.is_within_margin:
        text += f"; that is within the {percent(speedup.tie_margin)} that make a tie"
    if noise is not None and speedup.is_within(noise):
        text += f"; that is within the noise: {noise.text}"
        if speedup.num_pairs > 1:
            left = percent(noise.of_means(speedup.num_pairs) - 1, digits=1)
            text += f", of which {left} is left for means over {speedup.num_pairs}"
    return text


def pairs_of(pairs: Pairs) -> str:
    """Return ``3 pairs of interleaved confirm runs``."""
    kind = "interleaved " if pairs.interleaved else ""
    return f"{counted(len(pairs), 'pair')} of {kind}confirm runs"


def _pairs_text(pairs: Pairs) -> str:
    return pairs_of(pairs) + ("" if pairs.interleaved else " in alternation")


def _times_as_fast(speedup: Speedup, rule: Rule) -> str:
    """Return ``trains 1.34 times as fast as the baseline (1.22 to 1.47)``."""
    of = "" if rule.is_of_speed else f" in {rule.speed.metric}"
    like = f"as {_fast(rule)} as the baseline{of}"
    return f"{_verb(rule)} {speedup.ratio:.2f} times {like}{_ends(speedup)}"


def _verb(rule: Rule) -> str:
    if rule.speed.metric in OF_THE_TARGET:
        return "reaches the target"
    return "trains" if rule.is_of_speed else "is"


def _fast(rule: Rule) -> str:
    return "fast" if rule.is_of_speed else "good"


def _ends(speedup: Speedup) -> str:
    return f" ({speedup.low:.2f} to {speedup.high:.2f})"
