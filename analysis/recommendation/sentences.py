"""Why a config is recommended, and what its speed-up rests on, in sentences."""

from __future__ import annotations

from analysis.columns import config_of, rows_of, text_of
from analysis.recommendation.choice import Choice
from analysis.recommendation.pairs import Pairs, interim_analyses
from analysis.recommendation.selection import Selection
from analysis.recommendation.speedup import Basis, Speedup
from analysis.rule import unreported
from analysis.statistics.against_best import Verdict
from analysis.tables.run_tables import RunTables
from analysis.wording import counted, format_config, percent, shown
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage, TrialState


def why_chosen(choice: Choice, tables: RunTables) -> str:
    """Return the reason for the config that is recommended."""
    if choice.rejected is not None and choice.slower is not None:
        rejected = format_config(choice.rejected, tables.sweep)
        return (
            f"the baseline; {rejected} looked faster in the runs that selected it and is not: "
            f"{speedup_text(choice.slower, tables)}"
        )
    if choice.finalist is not None:
        interval, selected = choice.finalist.pairs.interval, choice.selection.config or {}
        return (
            f"the fastest of the finalists: {interval.centre:.2f}x the speed of "
            f"{format_config(selected, tables.sweep)}, which was selected before, 95 % interval "
            f"{interval.low:.2f}x to {interval.high:.2f}x over {_pairs_text(choice.finalist.pairs)}"
        )
    return why_selected(choice.selection, tables.sweep)


def why_selected(selection: Selection, sweep: SweepRecord) -> str:
    """Return the reason for a config that the searching runs speak for."""
    row, fastest, rule = selection.row or {}, selection.fastest or {}, selection.rule
    speed, accuracy = rule.speed.metric, rule.accuracy.metric
    start = (
        f"in the runs that selected it {shown(speed, row[rule.speed_column])} at {accuracy} "
        f"{shown(accuracy, row[rule.accuracy_column])}; the best is "
        f"{shown(accuracy, selection.best_accuracy)} (configs close enough to it: "
        f"{selection.num_accurate:,} of {selection.num_configs:,})"
    )
    if row["trial_ids"] == fastest["trial_ids"]:
        return f"{start}; of these it is the fastest"
    other = format_config(config_of(fastest, sweep), sweep)
    figure, margin = shown(speed, fastest[rule.speed_column]), percent(rule.tie_margin)
    if row["verdict"] == Verdict.TIED:
        return f"{start}; shown to be as fast within {margin} as {other} ({figure}), and not dearer"
    return (
        f"{start}; its speed is within {margin} of that of {other} ({figure}), and it is not dearer"
    )


def why_none(tables: RunTables) -> str:
    """Return the reason why no config can be recommended."""
    rule, rows = tables.rule, tables.trials
    of_stage = rows[rows["stage"] == Stage.TRAIN]
    if of_stage.empty:
        return "no trial was trained to accuracy"
    ended = of_stage[of_stage["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    if len(ended):
        missing = unreported(ended, (rule.speed, rule.accuracy))
        if missing:
            return f"no completed trial has reported {' and '.join(missing)}"
        return f"no completed trial has both {rule.speed.metric} and {rule.accuracy.metric}"
    counts = ", ".join(f"{n} {state}" for state, n in of_stage["state"].value_counts().items())
    reasons = of_stage["reason"].value_counts()
    most = f"; most often: {reasons.index[0]}" if len(reasons) else ""
    return f"no trial completed ({counts}{most})"


def speedup_text(speedup: Speedup, tables: RunTables) -> str:
    """Return a speed-up with what it rests on."""
    if speedup.basis is Basis.SAME:
        return "it is the baseline itself"
    if speedup.basis is Basis.UNKNOWN or speedup.ratio is None:
        return _why_unknown(tables)
    if speedup.pairs is not None:
        return _confirmed(speedup.pairs, speedup.searching_ratio, tables.sweep)
    return (
        f"{speedup.ratio:.2f}x the baseline's speed in the runs that selected it; "
        f"{_why_not_confirmed(tables)}, so there is no interval"
    )


def _confirmed(pairs: Pairs, searching: float | None, sweep: SweepRecord) -> str:
    beside = "" if searching is None else f"; {searching:.2f}x in the runs that selected it"
    interval = pairs.interval
    start = f"{interval.centre:.2f}x the baseline's speed"
    if not interval.is_known:
        return (
            f"{start} in one pair of confirm runs, too few for an interval"
            f"{' (contaminated)' * pairs.num_contaminated}{beside}"
        )
    planned = interim_analyses(sweep).first
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
    elif pairs.num_contaminated:
        remark = f", {pairs.num_contaminated} of them with a contaminated run"
    if pairs.num_elsewhere:
        remark += f"; {counted(pairs.num_elsewhere, 'pair')} under other conditions left out"
    return remark


def _why_not_confirmed(tables: RunTables) -> str:
    confirm = tables.confirm_rows
    if not tables.sweep.confirm:
        return "the sweep has no confirm stage"
    if confirm.empty:
        return "no confirm run was made"
    counts = ", ".join(f"{n} {state}" for state, n in confirm["state"].value_counts().items())
    return f"the confirm runs give no pair ({counts})"


def _why_unknown(tables: RunTables) -> str:
    rows = tables.trials[rows_of(tables.trials, tables.sweep.baseline)]
    if rows.empty:
        return "speed-up not known: the baseline was not run"
    ended = rows[rows["state"] != TrialState.COMPLETED]
    if ended.empty:
        return "speed-up not known: the baseline has no speed of its own"
    last = ended.iloc[-1]
    reason = text_of(last["reason"]).partition("\n")[0]
    because = f": {reason}" if reason else ""
    return f"speed-up not known: the baseline is {last['state']}{because}"
