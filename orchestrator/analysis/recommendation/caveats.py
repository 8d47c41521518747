"""Caveats: the certainty of a recommendation, and what weakens it, a sentence each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orchestrator.analysis.columns import rows_of
from orchestrator.analysis.comparable import GROUP, group_notes
from orchestrator.analysis.recommendation.boundary import at_boundary
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.one_class import one_class
from orchestrator.analysis.recommendation.speedup import Basis, Speedup
from orchestrator.analysis.rule import Rule, column_of, reaches
from orchestrator.analysis.rule_words import held_by
from orchestrator.analysis.statistics.against_best import Verdict
from orchestrator.analysis.statistics.drift import Drift
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.analysis.statistics.pooling import OVER_ONE_RUN
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import counted, percent, shown
from orchestrator.metrics import Objective, is_accuracy
from orchestrator.rules import RuleKind
from orchestrator.trial import Isolation, TrialState


def how_sure(speedup: Speedup, text: str, noise: NoiseFloor | None) -> str:
    """Return what a speed-up rests on, and if it exceeds the noise.

    Args:
        speedup: The speed-up.
        text: The same in a sentence.
        noise: What the baseline's own runs differ by.
    """
    if not speedup.is_known:
        return text
    if speedup.is_tie or speedup.is_within_margin:
        text = f"{text}; that is within the {percent(speedup.tie_margin)} that make a tie"
    if noise is not None and speedup.is_within(noise):
        text = f"{text}; that is within the noise: {noise.text}"
        if speedup.num_pairs > 1:
            left = percent(noise.of_means(speedup.num_pairs) - 1, digits=1)
            text = f"{text}, of which {left} is left for means over {speedup.num_pairs}"
    return text


def caveats_of(
    choice: Choice,
    tables: RunTables,
    *,
    confirmed: Mapping[Any, Any],
    ranked: Mapping[Any, Any],
) -> tuple[str, ...]:
    """Return everything that weakens a choice.

    Args:
        choice: The config to use.
        tables: The run.
        confirmed: The config's row among those of the confirm stage; {} where it has none.
        ranked: Its row among those that are ranked; {} where it is not among them.
    """
    comparable = tables.ranked[tables.ranked[GROUP] == choice.row.get(GROUP)]
    return (
        *tables.sweep.cuts,
        *one_class(tables, choice.config),
        *baseline_short_of_the_rule(comparable, tables.rule, tables.sweep.baseline),
        *of_the_search(choice, tables),
        *of_its_runs(choice.row),
        *of_its_confirm_runs(choice, tables),
        *unconfirmed(confirmed, comparable, tables.rule),
        *drifted(tables.drift),
        *short_epochs(tables.trials),
        *interfering(tables),
        *slower_than_best(ranked, tables.rule),
        *at_boundary(tables, choice.config),
    )


def of_the_search(choice: Choice, tables: RunTables) -> list[str]:
    """Name the runs that the config was chosen among, and confirm runs of another kind."""
    notes = []
    if choice.selection.state is TrialState.STOPPED:
        notes.append("no trial trained its whole budget: chosen among stopped ones")
    notes += group_notes(tables.grouped, tables.main_group, tables.sweep)
    if choice.slower is not None and choice.rejected is None:
        notes.append("the confirm runs show it to be slower than the baseline")
    return notes


def of_its_runs(row: Mapping[Any, Any]) -> list[str]:
    """Name what there is to know of the searching runs of the config that is recommended."""
    notes = []
    if row.get("interval") == OVER_ONE_RUN:
        notes.append(
            "selected from one run of each config: the noise between runs was not known then"
        )
    if row.get("contaminated"):
        notes.append(
            "all of its runs were contaminated, and its speed is of them all the same: something "
            "else ran on its cores"
        )
    if row.get("num_left_out"):
        runs = counted(int(row["num_left_out"]), "contaminated run")
        were = "was" if row.get("num_left_out") == 1 else "were"
        notes.append(
            f"{runs} of it {were} left out of its speed, not of what it learned: something else "
            "ran on its cores"
        )
    if row.get("isolation") == Isolation.SHARED:
        notes.append("it was timed on shared cores, with no promise that it was isolated")
    if row.get("num_lost"):
        notes.append(f"{counted(int(row['num_lost']), 'run')} of it did not complete")
    return notes


def of_its_confirm_runs(choice: Choice, tables: RunTables) -> list[str]:
    """Name confirm runs of the config or the baseline on shared cores that a claim rests on."""
    rows = tables.confirm_rows
    if choice.speedup.basis is not Basis.CONFIRM or "isolation" not in rows.columns:
        return []
    done = rows[rows["state"] == TrialState.COMPLETED]
    own = done[rows_of(done, choice.config) | rows_of(done, tables.sweep.baseline)]
    num_shared = int((own["isolation"] == Isolation.SHARED).sum())
    if not num_shared:
        return []
    were = "was" if num_shared == 1 else "were"
    return [
        f"{counted(num_shared, 'confirm run')} of it or of the baseline {were} timed on shared "
        "cores, with no promise that it was isolated"
    ]


def unconfirmed(confirmed: Mapping[Any, Any], searched: pd.DataFrame, rule: Rule) -> list[str]:
    """Name the figures that confirm runs have, and that fall short of what the rule asks for.

    Args:
        confirmed: The config's row of the confirm stage; {} where it has none.
        searched: Comparable configs of the searching runs, which the limits are taken from.
        rule: The rule.
    """
    notes = []
    for objective, limit in _limits(searched, rule):
        reached = confirmed.get(column_of(objective))
        if reached is None or pd.isna(reached) or pd.isna(limit):
            continue
        if not reaches(objective, pd.Series([reached]), limit).all():
            metric = objective.metric
            notes.append(
                f"its confirm runs reach {metric} {shown(metric, reached)}, short of the "
                f"{shown(metric, limit)} that the rule asks for"
            )
    return notes


def baseline_short_of_the_rule(
    searched: pd.DataFrame, rule: Rule, baseline: Mapping[str, Any]
) -> list[str]:
    """Name a baseline that the rule would not recommend, however fast, among comparable configs."""
    own = searched[rows_of(searched, baseline)]
    if own.empty or rule.acceptable(searched)[own.index].any():
        return []
    for objective, limit in _limits(searched, rule):
        figures = own[column_of(objective)].dropna()
        if figures.empty or pd.isna(limit) or reaches(objective, figures, limit).any():
            continue
        metric, enough = objective.metric, "not good enough"
        if is_accuracy(metric):
            enough = "not accurate enough"
        found, asked = shown(metric, figures.iloc[0]), shown(metric, limit)
        text = f"{metric} {found} when searching, the rule asks for {asked}"
        return [f"the baseline itself is {enough}: {text}"]
    return []


def _limits(searched: pd.DataFrame, rule: Rule) -> list[tuple[Objective, float]]:
    limits = rule.limits(searched)
    return [(objective, limits[objective.metric]) for objective in rule.conditions]


def drifted(drift: Drift | None) -> list[str]:
    """Name a machine that became slower or faster while the sweep ran."""
    return [drift.text] if drift is not None and drift.is_significant else []


def short_epochs(trials: pd.DataFrame) -> list[str]:
    """Name speeds of two kinds: of the steady state, and of epochs too short to have one."""
    if "tags.rate" not in trials.columns:
        return []
    rates = trials.loc[trials["state"] == TrialState.COMPLETED, "tags.rate"].dropna()
    num_whole = int((rates == "epochs").sum())
    if num_whole in (0, len(rates)):
        return []
    return [
        f"{counted(num_whole, 'trial')} of {len(rates)} had epochs too short for a steady state: "
        "their speeds are of whole epochs, starts included; on a larger set they would be higher"
    ]


def interfering(tables: RunTables) -> list[str]:
    """Name co-located trials that are not as fast as isolated ones, or may not be."""
    effect = tables.interference
    if effect is not None:
        return [effect.text] if effect.is_shown else []
    return [tables.why_no_interference] if tables.why_no_interference else []


def slower_than_best(ranked: Mapping[Any, Any], rule: Rule) -> list[str]:
    """Name a config that was taken for a tie and is shown to be none by what was learned since."""
    ratio = ranked.get("ratio_to_best", 0.0)
    if rule.how.kind is not RuleKind.FASTEST_WITHIN:
        return []
    if ranked.get("verdict") != Verdict.WORSE or ratio < 1 - rule.tie_margin:
        return []
    return [
        "by all that is known of the noise it is slower than the fastest config that is "
        f"{held_by(rule)}, at {percent(ratio, digits=1)} of its speed; that is within the "
        f"margin of {percent(rule.tie_margin)}, and it is cheaper"
    ]
