"""Why a config is recommended, and what its speed-up rests on, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of, rows_of, text_of
from orchestrator.analysis.recommendation.choice import Choice, FasterFinalist
from orchestrator.analysis.recommendation.cost import cheaper_text
from orchestrator.analysis.recommendation.pairs import Pairs, interim_analyses
from orchestrator.analysis.recommendation.selection import Selection, select
from orchestrator.analysis.recommendation.speedup import Basis, Speedup
from orchestrator.analysis.rule import Rule, best_of, column_of, unreported
from orchestrator.analysis.rule_words import condition_text, times_baseline
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import MOST_FACTOR, counted, format_config, percent, shown
from orchestrator.metrics import OF_THE_TARGET, Objective, batches_hint
from orchestrator.rules import RuleKind
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage, TrialState

_NOT_POSITIVE: Final = "a ratio takes figures above 0, and {} of it or of the baseline is not"


def why_chosen(choice: Choice, tables: RunTables) -> str:
    """Return the reason for the config that is recommended."""
    if choice.rejected is not None and choice.against is not None:
        rejected = format_config(choice.rejected, tables.sweep)
        if choice.slower is None:
            found = f"is as {_fast(tables.rule)} within the margin of a tie, and not cheaper"
        else:
            found = "looked faster in the runs that selected it and is slower"
        return f"the baseline; {rejected} {found}: {_against_text(choice.against, tables)}"
    if choice.finalist is not None:
        return _why_finalist(choice.finalist, choice.selection, tables)
    return why_selected(choice.selection, tables.sweep)


def _against_text(against: Speedup, tables: RunTables) -> str:
    text = speedup_text(against, tables)
    return text.removeprefix("speed-up not known: ")


def _why_finalist(finalist: FasterFinalist, selection: Selection, tables: RunTables) -> str:
    pairs, interval = finalist.pairs, finalist.pairs.interval
    selected = format_config(selection.config or {}, tables.sweep)
    if not is_narrow(interval.low, interval.high):
        return (
            f"the fastest of the finalists: faster than {selected}, which was selected before, "
            f"in {_pairs_text(pairs)}; by how much is not known"
        )
    return (
        f"the fastest of the finalists: {interval.centre:.2f}x the speed of {selected}, which was "
        f"selected before, 95 % interval {interval.low:.2f}x to {interval.high:.2f}x over "
        f"{_pairs_text(pairs)}"
    )


def why_selected(selection: Selection, sweep: SweepRecord) -> str:
    """Return the reason for a config that the searching runs speak for."""
    row, fastest, rule = selection.row or {}, selection.fastest or {}, selection.rule
    start = f"in the runs that selected it {_figures(row, selection)}"
    if rule.how.kind is not RuleKind.FASTEST_WITHIN:
        return f"{start}; {taken_by(rule)}"
    speed = rule.speed.metric
    if row["trial_ids"] == fastest["trial_ids"]:
        return f"{start}; of these it is the {'fastest' if rule.is_of_speed else 'best'}"
    other = format_config(config_of(fastest, sweep), sweep)
    figure, margin = shown(speed, fastest[rule.speed_column]), percent(rule.tie_margin)
    cheaper = cheaper_text(row, fastest, rule, sweep)
    return (
        f"{start}; within {margin} of the {'fastest' if rule.is_of_speed else 'best'}, {other} "
        f"({figure}){f', and {cheaper}' if cheaper else ''}"
    )


def _fast(rule: Rule) -> str:
    return "fast" if rule.is_of_speed else "good"


def _figures(row: Mapping[Any, Any], selection: Selection) -> str:
    """Return the figures of a config, the best of each, and how many hold the conditions."""
    rule, num_configs = selection.rule, selection.num_configs
    others = [objective for objective in rule.objectives if objective is not rule.speed]
    metrics = [objective.metric for objective in others]
    own = " and ".join(f"{m} {shown(m, row[f'metrics.{m}'])}" for m in metrics)
    figures = shown(rule.speed.metric, row[rule.speed_column]) + (f" at {own}" if own else "")
    if not rule.is_of_speed:
        figures = f"{rule.speed.metric} {figures}"
    held = f"{selection.num_accurate:,} of {num_configs:,})"
    if not rule.conditions:
        return f"{figures} (of {counted(num_configs, 'config')})"
    if rule.conditions == tuple(others) and len(others) == 1 and others[0].bound is None:
        best = shown(metrics[0], selection.best[metrics[0]])
        return f"{figures}; the best is {best} (configs close enough to it: {held}"
    asked = ", ".join(condition_text(objective) for objective in rule.conditions)
    return f"{figures}; asked for: {asked} (configs that hold this: {held}"


def taken_by(rule: Rule) -> str:
    """Return what a rule that is not of the fastest took a config as."""
    match rule.how.kind:
        case RuleKind.KNEE:
            return "it is the knee of the front"
        case RuleKind.WEIGHTED:
            return "its weighted sum is the largest"
        case _:
            return f"the sweep's function {rule.how.name} chose it"


def why_none(tables: RunTables) -> str:
    """Return the reason why no config can be recommended."""
    selection = select(tables)
    if selection.refusal:
        return selection.refusal
    if selection.num_configs:
        return _why_none_holds(selection)
    rule, rows = tables.rule, tables.grouped
    of_stage = rows[rows["stage"] == Stage.TRAIN]
    if of_stage.empty:
        return "no trial was trained"
    ended = of_stage[of_stage["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    if len(ended):
        missing = unreported(ended, rule.objectives)
        if rule.target is not None and set(missing) & set(OF_THE_TARGET):
            return _why_not_reached(rule, rule.target, ended)
        if missing:
            reported = f"no completed trial has reported {' and '.join(missing)}"
            return f"{reported}{batches_hint(missing)}"
        names = [objective.metric for objective in rule.objectives]
        both = "both " if len(names) == 2 else ""
        return f"no completed trial has {both}{' and '.join(names)}"
    counts = ", ".join(f"{n} {state}" for state, n in of_stage["state"].value_counts().items())
    reasons = of_stage["reason"].str.partition("\n")[0].value_counts()
    most = f"; most often: {reasons.index[0]}" if len(reasons) else ""
    return f"no trial completed ({counts}{most})"


def why_no_front(tables: RunTables) -> str:
    """Return the reason why no config is on the front."""
    done = tables.grouped[tables.grouped["state"] == TrialState.COMPLETED]
    missing = unreported(done, tables.rule.objectives) if len(done) else []
    if missing:
        return f"no completed trial has reported {' and '.join(missing)}"
    if len(tables.configs) and any(o.bound is not None for o in tables.rule.objectives):
        return "no config that completed holds the bounds"
    return "no config completed with every objective measured"


def _why_none_holds(selection: Selection) -> str:
    """Return which of the conditions no config holds, with the best figure that there is."""
    bounds = [objective for objective in selection.rule.objectives if objective.bound is not None]
    texts = [
        f"{condition_text(o)} (the best: {shown(o.metric, selection.best[o.metric])})"
        for o in bounds
    ]
    return f"none of {counted(selection.num_configs, 'config')} holds: {' and '.join(texts)}"


def _why_not_reached(rule: Rule, target: Objective, ended: pd.DataFrame) -> str:
    """Return that nothing reached the target, with the best figure that there is."""
    figures = ended.get(column_of(target))
    beside = ""
    if figures is not None and figures.notna().any():
        beside = f" (the best: {shown(target.metric, best_of(target, figures))})"
    return f"no completed trial reached the target: {condition_text(target)}{beside}"


def speedup_text(speedup: Speedup, tables: RunTables) -> str:
    """Return a speed-up with what it rests on, or why it is not known."""
    if speedup.basis is Basis.SAME:
        return "it is the baseline itself"
    if speedup.is_known and speedup.pairs is not None:
        return _confirmed(speedup.pairs, speedup.searching_ratio, tables)
    return f"speed-up not known: {why_not_known(speedup, tables)}"


def why_not_known(speedup: Speedup, tables: RunTables) -> str:
    """Return why a speed-up does not lead, the gravest reason first; "" where it does."""
    return "; ".join(reasons_not_known(speedup, tables))


def reasons_not_known(speedup: Speedup, tables: RunTables) -> tuple[str, ...]:
    """Return the reasons why a speed-up does not lead, the gravest first; none where it does."""
    if speedup.leads or speedup.basis is Basis.SAME:
        return ()
    pairs = speedup.pairs
    if speedup.basis is Basis.UNKNOWN or speedup.ratio is None:
        return (_why_no_ratio(pairs, tables) if pairs is not None else _why_unknown(tables),)
    if pairs is None:
        return (_why_not_confirmed(tables),)
    reasons = []
    if pairs.num_contaminated:
        number = f"{pairs.num_contaminated} of " if pairs.num_contaminated < len(pairs) else "its "
        reasons.append(
            f"other load disturbed {number}{counted(len(pairs), 'pair')} of confirm runs"
        )
    if not pairs.interval.is_known:
        reasons.append("one pair of confirm runs is too few for an interval")
    elif not is_narrow(pairs.interval.low, pairs.interval.high):
        reasons.append(
            f"its {counted(len(pairs), 'pair')} of confirm runs allow for ratios that differ by "
            f"more than a factor of {MOST_FACTOR:g}"
        )
    elif (low := pairs.interval.low) <= 1 <= (high := pairs.interval.high):
        like = f"{low:.2f} to {high:.2f} times as {_fast(tables.rule)}"
        number = counted(len(pairs), "pair")
        reasons.append(f"{number} of confirm runs do not tell it from the baseline ({like})")
    return tuple(reasons)


def _confirmed(pairs: Pairs, searching: float | None, tables: RunTables) -> str:
    beside = "" if searching is None else f"; {searching:.2f}x in the runs that selected it"
    interval = pairs.interval
    start = times_baseline(tables.rule, f"{interval.centre:.2f}")
    planned = interim_analyses(tables.sweep).first
    extended = f" (extended from {planned})" if len(pairs) > planned else ""
    return (
        f"{start}, 95 % interval {interval.low:.2f}x to {interval.high:.2f}x, over "
        f"{_pairs_text(pairs)}{extended}{_remark(pairs)}{beside}"
    )


def _pairs_text(pairs: Pairs) -> str:
    if pairs.interleaved:
        return f"{counted(len(pairs), 'pair')} of interleaved confirm runs"
    return f"{counted(len(pairs), 'pair')} of confirm runs in alternation"


def _remark(pairs: Pairs) -> str:
    """Return what is to be known of contaminated rounds and of other conditions, or ""."""
    remark = ""
    if pairs.num_left_out:
        remark = f"; {counted(pairs.num_left_out, 'pair')} left out: a run of it was contaminated"
    if pairs.num_elsewhere:
        remark += f"; {counted(pairs.num_elsewhere, 'pair')} under other conditions left out"
    return remark


def _why_not_confirmed(tables: RunTables) -> str:
    confirm = tables.confirm_rows
    if not tables.sweep.rigor.confirm:
        return "the sweep has no confirm stage"
    if confirm.empty:
        return "no confirm run was made"
    counts = ", ".join(f"{n} {state}" for state, n in confirm["state"].value_counts().items())
    return f"no two confirm runs of a round are of it and the baseline ({counts})"


def _why_no_ratio(pairs: Pairs, tables: RunTables) -> str:
    metric = tables.rule.speed.metric
    if not pairs.num_one_sided:
        return _NOT_POSITIVE.format(metric)
    have = "reached the target" if metric in OF_THE_TARGET else f"have {metric}"
    total = counted(pairs.num_rounds, "round")
    if pairs.num_ours == pairs.num_rounds:
        return f"the baseline's confirm runs {have} in {pairs.num_theirs} of {total}"
    ours = f"its confirm runs {have} in {pairs.num_ours} of {total}"
    is_all = pairs.num_theirs == pairs.num_rounds
    return ours if is_all else f"{ours}, the baseline's in {pairs.num_theirs}"


def _why_unknown(tables: RunTables) -> str:
    rows, rule = tables.trials[rows_of(tables.trials, tables.sweep.baseline)], tables.rule
    if rows.empty:
        return "the baseline was not run"
    ended = rows[rows["state"] != TrialState.COMPLETED]
    if ended.empty and (tables.searched[rule.speed_column] <= 0).any():
        return _NOT_POSITIVE.format(rule.speed.metric)
    if ended.empty:
        missing = f"has no {'speed of its own' if rule.is_of_speed else rule.speed.metric}"
        if rule.target is not None and rule.speed.metric in OF_THE_TARGET:
            missing = f"did not reach the target: {condition_text(rule.target)}"
        return f"the baseline {missing}"
    last = ended.iloc[-1]
    reason = text_of(last["reason"]).partition("\n")[0]
    because = f": {reason}" if reason else ""
    return f"the baseline is {last['state']}{because}"
