"""How sure a recommendation is, and what weakens it, a sentence each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.best import Verdict
from analysis.columns import rows_of
from analysis.company import Company
from analysis.drift import Drift
from analysis.noise import NoiseFloor
from analysis.rule import Rule
from analysis.speedup import Basis, Speedup
from analysis.wording import counted, percent, shown
from orchestrator.trial import TrialState


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
