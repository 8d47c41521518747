"""Caveats: what the figures of a run rest on, and what weakens them, each with its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import rows_of, same_config, text_of
from orchestrator.analysis.comparable import GROUP, group_notes
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.codes import Caveat, Finding, Health
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.speedup import Basis
from orchestrator.analysis.rule import Rule, column_of, reaches
from orchestrator.analysis.statistics.against_best import Verdict
from orchestrator.analysis.statistics.pooling import OVER_ONE_RUN, contaminated
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import Objective
from orchestrator.rules import RuleKind
from orchestrator.trial import Isolation, Stage, TrialState

_CLASSES: Final = "metrics.val_classes_predicted"
_ACCURACY: Final = "metrics.val_acc"
_FOREIGN: Final = "metrics.foreign_share"


def _found(code: Caveat, health: Health = Health.WARNING, **figures: object) -> Finding:
    return Finding(code=code, health=health, figures=figures)


def caveats_of_run(tables: RunTables, choice: Choice | None) -> Iterator[Finding]:
    """Yield what there is to know of a run, whichever config is recommended."""
    sweep = tables.sweep
    if sweep.replayed:
        yield _found(Caveat.REPLAY, source=sweep.replayed)
    health = Health.WARNING if sweep.data_note else Health.PASS
    yield _found(Caveat.DATA, health, name=sweep.data)
    yield from (_found(Caveat.BUDGET, text=text) for text in sweep.cuts)
    for text in group_notes(tables.grouped, tables.main_group, sweep):
        yield _found(Caveat.CONDITIONS, text=text)
    yield _other_load(tables.trials)
    yield _drift(tables)
    yield from _short_epochs(tables.trials)
    yield from _interference(tables)
    yield _noise(tables, choice)
    yield _lost_trials(tables.trials)


def caveats_of_choice(
    choice: Choice, tables: RunTables, figures: Mapping[Any, Any], stage: Stage
) -> Iterator[Finding]:
    """Yield what there is to know of the config that is recommended.

    Args:
        choice: The config to use.
        tables: The run.
        figures: The row of its figures.
        stage: The stage that they are of.
    """
    if tables.is_composed:
        yield _composed(choice, figures, stage)
    yield from _one_class(tables, choice.config)
    comparable = tables.ranked[tables.ranked[GROUP] == choice.row.get(GROUP)]
    yield from _baseline_short(comparable, tables.rule, tables.sweep.baseline)
    if choice.selection.state is TrialState.STOPPED:
        yield _found(Caveat.STOPPED)
    if choice.is_slower and choice.rejected is None:
        yield _found(Caveat.SLOWER)
    yield from _searching_runs(choice.row)
    yield from _confirm_runs(choice, tables)
    if stage is Stage.CONFIRM:
        yield from _confirm_short(figures, comparable, tables.rule)
    yield from _worse_than_best(ranked_row(choice.config, tables), tables.rule)
    yield from _edges(tables, choice.config)


def ranked_row(config: Mapping[str, Any], tables: RunTables) -> Mapping[Any, Any]:
    """Return the config's row among those that are ranked; {} where it is not among them."""
    ranked = tables.ranked
    own = ranked[rows_of(ranked, config) & (ranked["verdict"] != "")]
    return own.iloc[0].to_dict() if len(own) else {}


def _composed(choice: Choice, figures: Mapping[Any, Any], stage: Stage) -> Finding:
    is_composed, row = bool(figures.get(COMPOSED, False)), choice.row
    return _found(
        Caveat.COMPOSED,
        Health.WARNING if is_composed else Health.PASS,
        selected=bool(row.get(COMPOSED, False)),
        row=row,
        speed=int(figures["num_runs"]),
        accuracy=int(figures["num_all_runs"]),
        stage=stage,
    )


def _one_class(tables: RunTables, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a model that predicts one class for the whole split: of the config, of the baseline."""
    trials, baseline = tables.trials, tables.sweep.baseline
    if _CLASSES not in trials.columns:
        return
    trained = (trials["state"] == TrialState.COMPLETED) & (trials["stage"] != Stage.PROBE)
    both = {"its": config} | ({} if same_config(config, baseline) else {"the baseline's": baseline})
    for whose, which in both.items():
        known = trials[trained & rows_of(trials, which)].dropna(subset=[_CLASSES])
        runs = known[known[_CLASSES] == 1]
        if len(runs):
            best = runs[_ACCURACY].max()
            yield _found(Caveat.ONE_CLASS, whose=whose, num=len(runs), of=len(known), accuracy=best)


def _baseline_short(
    searched: pd.DataFrame, rule: Rule, baseline: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield the first condition that keeps the rule from recommending the baseline.

    Args:
        searched: Comparable configs of the searching runs, which the limits are taken from.
        rule: The rule.
        baseline: The baseline.
    """
    own = searched[rows_of(searched, baseline)]
    if own.empty or rule.acceptable(searched)[own.index].any():
        return
    for objective, limit in _limits(searched, rule):
        figures = own[column_of(objective)].dropna()
        if len(figures) and pd.notna(limit) and not reaches(objective, figures, limit).any():
            yield _found(
                Caveat.BASELINE_SHORT, metric=objective.metric, value=figures.iloc[0], limit=limit
            )
            return


def _confirm_short(
    confirmed: Mapping[Any, Any], searched: pd.DataFrame, rule: Rule
) -> Iterator[Finding]:
    """Yield the figures of confirm runs that are short of the limits of the searching runs."""
    for objective, limit in _limits(searched, rule):
        reached = confirmed.get(column_of(objective))
        if reached is None or pd.isna(reached) or pd.isna(limit):
            continue
        if not reaches(objective, pd.Series([reached]), limit).all():
            yield _found(Caveat.CONFIRM_SHORT, metric=objective.metric, value=reached, limit=limit)


def _limits(searched: pd.DataFrame, rule: Rule) -> list[tuple[Objective, float]]:
    limits = rule.limits(searched)
    return [(objective, limits[objective.metric]) for objective in rule.conditions]


def _searching_runs(row: Mapping[Any, Any]) -> Iterator[Finding]:
    if row.get("interval") == OVER_ONE_RUN:
        yield _found(Caveat.ONE_RUN)
    if row.get("contaminated"):
        yield _found(Caveat.ALL_CONTAMINATED)
    if row.get("num_left_out"):
        yield _found(Caveat.LEFT_OUT, num=int(row["num_left_out"]))
    if row.get("isolation") == Isolation.SHARED:
        yield _found(Caveat.SHARED)
    if row.get("num_lost"):
        yield _found(Caveat.LOST, num=int(row["num_lost"]))


def _confirm_runs(choice: Choice, tables: RunTables) -> Iterator[Finding]:
    """Yield confirm runs on shared cores, of the config or the baseline, behind a claim."""
    rows = tables.confirm_rows
    if choice.speedup.basis is not Basis.CONFIRM or "isolation" not in rows.columns:
        return
    done = rows[rows["state"] == TrialState.COMPLETED]
    own = done[rows_of(done, choice.config) | rows_of(done, tables.sweep.baseline)]
    if num := int((own["isolation"] == Isolation.SHARED).sum()):
        yield _found(Caveat.CONFIRM_SHARED, num=num)


def _worse_than_best(ranked: Mapping[Any, Any], rule: Rule) -> Iterator[Finding]:
    """Yield a config that was selected as a tie, and is worse by all that is known of the noise."""
    ratio = ranked.get("ratio_to_best", 0.0)
    is_worse = ranked.get("verdict") == Verdict.WORSE and ratio >= 1 - rule.tie_margin
    if is_worse and rule.how.kind is RuleKind.FASTEST_WITHIN:
        yield _found(Caveat.WORSE_THAN_BEST, ratio=ratio)


def _edges(tables: RunTables, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield each knob at the largest or smallest of three values or more: the best may lie beyond.

    Knobs that were drawn from an interval are left out: one of the draws is always the
    largest. So are values that are as small as the knob allows at all.
    """
    trials, sweep = tables.trials, tables.sweep
    trained = trials[(trials["stage"] == Stage.TRAIN) & (trials["state"] == TrialState.COMPLETED)]
    if tables.is_composed:  # settings were tried by probes, not by trainings
        trained = tables.configs
    is_inside = True
    for name, domain in sweep.space.items():
        value, column = config.get(name), f"params.{name}"
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not domain.startswith("choice(") or column not in trained.columns or not is_number:
            continue
        tried = trained[column].unique()
        smallest = re.search(r">= (\S+)", sweep.knobs[name].allowed)
        is_least = smallest is not None and value == float(smallest[1])
        if len(tried) >= 3 and (value == max(tried) or (value == min(tried) and not is_least)):
            is_inside = False
            yield _found(Caveat.EDGE, knob=name, value=value, is_largest=value == max(tried))
    if is_inside:
        yield _found(Caveat.EDGE, Health.PASS)


def _other_load(trials: pd.DataFrame) -> Finding:
    """Return the runs that other load disturbed, among those that were watched for it."""
    ran = trials[trials["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    dirty = contaminated(ran)
    shares = ran.get(_FOREIGN, pd.Series(float("nan"), index=ran.index))
    tags = ran.get("tags.contaminated", pd.Series("", index=ran.index))
    watched = int((tags.map(text_of) != "").sum())  # "false" where nothing was found
    disturbed = int(dirty.sum())
    health = Health.WARNING if disturbed else Health.PASS
    return _found(
        Caveat.OTHER_LOAD,
        health if watched else Health.UNKNOWN,
        disturbed=disturbed,
        watched=watched,
        foreign_share=float(shares[dirty].mean()),
    )


def _drift(tables: RunTables) -> Finding:
    drift = tables.drift
    health = Health.UNKNOWN
    if drift is not None and drift.is_known:
        is_large = drift.is_significant and abs(drift.change) > tables.rule.tie_margin
        health = Health.WARNING if is_large else Health.PASS
    return _found(Caveat.DRIFT, health, drift=drift)


def _short_epochs(trials: pd.DataFrame) -> Iterator[Finding]:
    """Yield speeds of two kinds: of the steady state, and of epochs too short to have one."""
    if "tags.rate" not in trials.columns:
        return
    rates = trials.loc[trials["state"] == TrialState.COMPLETED, "tags.rate"].dropna()
    num = int((rates == "epochs").sum())
    if num not in (0, len(rates)):
        yield _found(Caveat.SHORT_EPOCHS, num=num, of=len(rates))


def _interference(tables: RunTables) -> Iterator[Finding]:
    effect, why = tables.interference, tables.why_no_interference
    if effect is None:
        if why:
            yield _found(Caveat.INTERFERENCE, Health.UNKNOWN, effect=None, why=why)
        return
    health = Health.UNKNOWN
    if effect.is_known:
        health = Health.WARNING if effect.is_shown and not effect.acted_on else Health.PASS
    yield _found(Caveat.INTERFERENCE, health, effect=effect, why="")


def _noise(tables: RunTables, choice: Choice | None) -> Finding:
    noise = tables.noise_floor
    if noise is None:
        return _found(Caveat.NOISE, Health.UNKNOWN, noise=None)
    within = choice is not None and choice.speedup.is_within(noise)
    health = Health.WARNING if within or not noise.is_known else Health.PASS
    return _found(Caveat.NOISE, health, noise=noise, within=within)


def _lost_trials(trials: pd.DataFrame) -> Finding:
    failed, infeasible, not_run = (
        int((trials["state"] == state).sum())
        for state in (TrialState.FAILED, TrialState.INFEASIBLE, TrialState.NOT_RUN)
    )
    return _found(
        Caveat.TRIALS,
        Health.PASS if len(trials) and not failed and not not_run else Health.WARNING,
        num=len(trials),
        failed=failed,
        infeasible=infeasible,
        not_run=not_run,
    )
