"""How sure a recommendation is, and what weakens it, a sentence each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.columns import rows_of
from analysis.recommendation.speedup import Basis, Speedup
from analysis.rule import Rule
from analysis.statistics.against_best import Verdict
from analysis.statistics.drift import Drift
from analysis.statistics.interference import Company
from analysis.statistics.noise_floor import NoiseFloor
from analysis.statistics.pooling import OVER_ONE_RUN
from analysis.wording import counted, percent, shown
from orchestrator.trial import Isolation, Stage, TrialState


def how_sure(speedup: Speedup, noise: NoiseFloor | None) -> str:
    """What a speed-up rests on, and whether it exceeds the noise."""
    said = speedup.text
    if speedup.basis is Basis.CONFIRM and speedup.num_pairs > 1 and not speedup.is_shown:
        said = f"{said}; so it is not shown to be faster than the baseline"
    if speedup.is_shown and speedup.is_within_margin:
        said = f"{said}; that is within the {percent(speedup.tie_margin)} that make a tie"
    if noise is not None and is_within(noise, speedup):
        said = f"{said}; that is within the noise: {noise.text}"
        if speedup.num_pairs > 1:
            left = percent(noise.of_means(speedup.num_pairs) - 1, digits=1)
            said = f"{said}, of which {left} is left for means over {speedup.num_pairs}"
    return said


def is_within(noise: NoiseFloor, speedup: Speedup) -> bool:
    """Whether a claimed speed-up is no larger than the noise floor."""
    is_claim = speedup.basis in (Basis.CONFIRM, Basis.SEARCHING)
    return is_claim and noise.covers(speedup.ratio, num_runs=max(speedup.num_pairs, 1))


def of_its_runs(choice: Mapping[Any, Any]) -> list[str]:
    """What there is to know of the searching runs of the config that is recommended."""
    notes = []
    if choice.get("interval") == OVER_ONE_RUN:
        notes.append(
            "selected from one run of each config: the noise between runs was not known then"
        )
    if choice.get("contaminated"):
        notes.append(
            "all of its runs were contaminated, and count all the same: something else ran on its "
            "cores"
        )
    if choice.get("num_left_out"):
        runs = counted(int(choice["num_left_out"]), "contaminated run")
        were = "was" if choice.get("num_left_out") == 1 else "were"
        notes.append(f"{runs} of it {were} left out: something else ran on its cores")
    if choice.get("isolation") == "shared":
        notes.append("it was timed on shared cores, with no promise that it was alone")
    if choice.get("num_lost"):
        notes.append(f"{counted(int(choice['num_lost']), 'run')} of it did not complete")
    return notes


def of_its_confirm_runs(
    speedup: Speedup, trials: pd.DataFrame, config: Mapping[str, Any], baseline: Mapping[str, Any]
) -> list[str]:
    """Confirm runs, of the config or of the baseline, that a claim rests on without a promise."""
    if speedup.basis is not Basis.CONFIRM or "isolation" not in trials.columns:
        return []
    done = trials[(trials["stage"] == Stage.CONFIRM) & (trials["state"] == TrialState.COMPLETED)]
    own = done[rows_of(done, config) | rows_of(done, baseline)]
    num_shared = int((own["isolation"] == Isolation.SHARED).sum())
    if not num_shared:
        return []
    were = "was" if num_shared == 1 else "were"
    return [
        f"{counted(num_shared, 'confirm run')} of it or of the baseline {were} timed on shared "
        "cores, with no promise that it was alone"
    ]


def unconfirmed_accuracy(
    confirmed: Mapping[Any, Any], searched: pd.DataFrame, rule: Rule
) -> list[str]:
    """Confirm runs that are less accurate than the rule asks for, of comparable configs."""
    reached = confirmed.get(rule.accuracy_column)
    if pd.isna(reached) or searched[rule.accuracy_column].isna().all():
        return []
    limit = rule.least_accuracy(searched[rule.accuracy_column])
    if rule.accuracy.sign * (reached - limit) >= -1e-9:
        return []
    metric = rule.accuracy.metric
    return [
        f"its confirm runs reach {metric} {shown(metric, reached)}, short of the "
        f"{shown(metric, limit)} that the rule asks for"
    ]


def less_accurate_baseline(
    searched: pd.DataFrame, rule: Rule, baseline: Mapping[str, Any]
) -> list[str]:
    """A baseline that the rule would not recommend, however fast, among comparable configs."""
    own = searched.loc[rows_of(searched, baseline), rule.accuracy_column].dropna()
    if own.empty or rule.is_accurate(searched[rule.accuracy_column])[own.index].any():
        return []
    metric, least = rule.accuracy.metric, rule.least_accuracy(searched[rule.accuracy_column])
    return [
        f"the baseline itself is not accurate enough: {metric} {shown(metric, own.iloc[0])}, "
        f"where the rule asks for {shown(metric, least)}"
    ]


def drifted(drift: Drift | None) -> list[str]:
    """A machine that became slower or faster while the sweep ran."""
    return [drift.text] if drift is not None and drift.is_significant else []


def short_epochs(trials: pd.DataFrame) -> list[str]:
    """Speeds of two kinds: of the steady state, and of epochs too short to have one."""
    if "tags.rate" not in trials.columns:
        return []
    told = trials.loc[trials["state"] == TrialState.COMPLETED, "tags.rate"].dropna()
    num_whole = int((told == "epochs").sum())
    if num_whole in (0, len(told)):
        return []
    return [
        f"{counted(num_whole, 'trial')} of {len(told)} had epochs too short for a steady state: "
        "their speeds are of whole epochs, starts included; on a larger set they would be higher"
    ]


def crowded(company: Company | None) -> list[str]:
    """Trials beside others that are not as fast as alone."""
    return [company.text] if company is not None and company.is_shown else []


def slower_than_best(standing: Mapping[Any, Any], rule: Rule) -> list[str]:
    """A config that was taken for a tie and is shown to be none by what was learned since."""
    ratio = standing.get("ratio_to_best", 0.0)
    if standing.get("verdict") != Verdict.WORSE or ratio < 1 - rule.tie_margin:
        return []
    return [
        "by all that is known of the noise it is slower than the fastest config that is accurate "
        f"enough, at {percent(ratio, digits=1)} of its speed; that is within the margin of "
        f"{percent(rule.tie_margin)}, and it is cheaper"
    ]
