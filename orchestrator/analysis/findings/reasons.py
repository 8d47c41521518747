"""Reasons: for the config that is recommended, for none, for a speed-up that is not known."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from orchestrator.analysis.columns import config_of, rows_of, text_of
from orchestrator.analysis.findings.codes import Finding, Health, Reason
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.cost import dearest_difference
from orchestrator.analysis.recommendation.selection import Selection
from orchestrator.analysis.recommendation.speedup import Basis, Speedup
from orchestrator.analysis.rule import best_of, column_of, unreported
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.rules import RuleKind
from orchestrator.trial import Stage, TrialState


def _found(code: Reason, **figures: object) -> Finding:
    return Finding(code=code, health=Health.UNKNOWN, figures=figures)


def why_chosen(choice: Choice, tables: RunTables) -> Finding:
    """Return the reason for the config that is recommended."""
    selection, rule = choice.selection, tables.rule
    row, fastest = selection.row or {}, selection.fastest or {}
    if choice.rejected is not None:
        return _found(Reason.NOT_FASTER)
    if choice.finalist is not None:
        return _found(Reason.FINALIST)
    if rule.how.kind is not RuleKind.FASTEST_WITHIN:
        return _found(Reason.BY_RULE)
    if row["trial_ids"] == fastest["trial_ids"]:
        return _found(Reason.FASTEST)
    return _found(
        Reason.CHEAPER,
        than=config_of(fastest, tables.sweep),
        speed=fastest[rule.speed_column],
        cost=dearest_difference(row, fastest, rule, tables.sweep),
    )


def why_none(selection: Selection, tables: RunTables) -> Finding:
    """Return the reason why no config can be recommended."""
    if selection.refusal:
        return _found(Reason.REFUSED, text=selection.refusal)
    if selection.num_configs:
        bounds = [o for o in selection.rule.objectives if o.bound is not None]
        best = {o: selection.best[o.metric] for o in bounds}
        return _found(Reason.NO_CONFIG_HOLDS, num=selection.num_configs, best=best)
    rule, rows = tables.rule, tables.grouped
    of_stage = rows[rows["stage"] == Stage.TRAIN]
    if of_stage.empty:
        return _found(Reason.NOT_TRAINED)
    ended = of_stage[of_stage["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    if ended.empty:
        reasons = of_stage["reason"].str.partition("\n")[0].value_counts()
        most = str(reasons.index[0]) if len(reasons) else None
        return _found(Reason.NOT_COMPLETED, states=_states(of_stage), most=most)
    missing = unreported(ended, rule.objectives)
    if rule.target is not None and set(missing) & set(OF_THE_TARGET):
        figures = ended.get(column_of(rule.target))
        best_known = None
        if figures is not None and figures.notna().any():
            best_known = best_of(rule.target, figures)
        return _found(Reason.TARGET_NOT_REACHED, target=rule.target, best=best_known)
    if missing:
        return _found(Reason.NOT_REPORTED, metrics=missing)
    return _found(Reason.NOT_TOGETHER, metrics=[o.metric for o in rule.objectives])


def why_no_front(tables: RunTables) -> Finding:
    """Return the reason why no config is on the front, for a front that is empty."""
    done = tables.grouped[tables.grouped["state"] == TrialState.COMPLETED]
    missing = unreported(done, tables.rule.objectives) if len(done) else []
    if missing:
        return _found(Reason.NOT_REPORTED, metrics=missing, is_front=True)
    if len(tables.configs) and any(o.bound is not None for o in tables.rule.objectives):
        return _found(Reason.NO_CONFIG_WITHIN)
    return _found(Reason.NO_CONFIG_MEASURED)


def why_not_known(speedup: Speedup, tables: RunTables) -> tuple[Finding, ...]:
    """Return the reasons why a speed-up does not lead, the gravest first; none where it does."""
    if speedup.leads or speedup.basis is Basis.SAME:
        return ()
    if speedup.ratio is None:
        return (_why_no_ratio(speedup, tables),)
    if speedup.pairs is None:
        return (_why_not_confirmed(tables),)
    return tuple(_why_open(speedup))


def _why_open(speedup: Speedup) -> Iterator[Finding]:
    """Yield what keeps a ratio over confirm runs from leading."""
    pairs = speedup.pairs
    assert pairs is not None
    num, interval = len(pairs), pairs.interval
    if pairs.num_contaminated:
        yield _found(Reason.OTHER_LOAD, num=pairs.num_contaminated, of=num)
    if not interval.is_known:
        yield _found(Reason.ONE_PAIR)
    elif not is_narrow(interval.low, interval.high):
        yield _found(Reason.WIDE, num=num)
    elif interval.low <= 1 <= interval.high:
        yield _found(Reason.NOT_TOLD_APART, num=num, low=interval.low, high=interval.high)


def _why_not_confirmed(tables: RunTables) -> Finding:
    confirm = tables.confirm_rows
    if not tables.sweep.rigor.confirm:
        return _found(Reason.NO_CONFIRM_STAGE)
    if confirm.empty:
        return _found(Reason.NO_CONFIRM_RUN)
    return _found(Reason.NO_PAIR, states=_states(confirm))


def _why_no_ratio(speedup: Speedup, tables: RunTables) -> Finding:
    pairs, rule = speedup.pairs, tables.rule
    if pairs is not None and pairs.num_one_sided:
        return _found(
            Reason.ONE_SIDED, ours=pairs.num_ours, theirs=pairs.num_theirs, of=pairs.num_rounds
        )
    rows = tables.trials[rows_of(tables.trials, tables.sweep.baseline)]
    lost = rows[rows["state"] != TrialState.COMPLETED]
    if pairs is not None or (
        len(rows) and lost.empty and (tables.searched[rule.speed_column] <= 0).any()
    ):
        return _found(Reason.NOT_POSITIVE)
    if rows.empty:
        return _found(Reason.BASELINE_NOT_RUN)
    if lost.empty:
        return _found(Reason.BASELINE_WITHOUT)
    last = lost.iloc[-1]
    reason = text_of(last["reason"]).partition("\n")[0]
    return _found(Reason.BASELINE_LOST, state=last["state"], reason=reason)


def _states(rows: pd.DataFrame) -> dict[str, int]:
    return {str(state): int(num) for state, num in rows["state"].value_counts().items()}
