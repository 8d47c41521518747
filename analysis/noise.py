"""How much the baseline differs from itself: the noise floor of a run, and its drift.

What runs of one config differ by, a claimed speed-up must exceed. The floor is raw on
purpose, without a model: the largest ratio between any two runs of the baseline in one stage,
and of it, for means over several runs, what averaging leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.columns import rows_of
from analysis.comparable import GROUP, with_groups
from analysis.intervals import CONFIDENCE
from analysis.rule import Rule
from analysis.wording import counted, percent
from orchestrator.trial import Stage, TrialState

MIN_RUNS_OF_DRIFT: Final = 4
"""A line through fewer runs says nothing."""

DIFFERENCE: Final = 0.05
"""A difference that ought to be found."""

POWER: Final = 0.8
"""In how many cases it ought to be found."""

_MOST_PAIRS: Final = 50
_STAGES: Final = (Stage.CONFIRM, Stage.TRAIN, Stage.PROBE)


@dataclass(frozen=True, kw_only=True)
class Drift:
    """How the baseline's speed changed in the course of a run.

    Attributes:
        per_hour: Relative change of its speed an hour; negative where it became slower.
        p_value: How likely a slope as steep is without any drift.
        num_runs: Runs that it was taken from.
        span_s: Time between the first of these and the last.
    """

    per_hour: float
    p_value: float
    num_runs: int
    span_s: float

    @property
    def is_significant(self) -> bool:
        """Whether chance alone would hardly show such a slope (5 %)."""
        return self.p_value < 1 - CONFIDENCE

    @property
    def text(self) -> str:
        """The drift in a sentence."""
        over = f"{counted(self.num_runs, 'run')} over {self.span_s / 60:.0f} min"
        if not self.is_significant:
            return f"no drift of the baseline's speed is shown ({over}, p = {self.p_value:.2f})"
        way = "slower" if self.per_hour < 0 else "faster"
        return (
            f"the baseline became {way} by {percent(abs(self.per_hour), digits=1)} an hour "
            f"({over}, p = {self.p_value:.2g}): configs that ran at other times are not alike"
        )


@dataclass(frozen=True, kw_only=True)
class NoiseFloor:
    """What runs of the baseline differ by, within one stage.

    Attributes:
        stage: The stage of the runs; ``confirm`` where the baseline was repeated there.
        num_runs: How many there are, two at least.
        largest_ratio: Of two of these runs, the faster over the slower, at most.
        cv: Coefficient of variation of their speeds.
        drift: Over all stages, or None where there are too few runs.
    """

    stage: Stage
    num_runs: int
    largest_ratio: float
    cv: float
    drift: Drift | None

    def of_means(self, num_runs: int) -> float:
        """The floor for means over as many runs: noise falls with the root of their number."""
        return math.exp(math.log(self.largest_ratio) / math.sqrt(num_runs))

    def covers(self, ratio: float | None, *, num_runs: int = 1) -> bool:
        """Whether a speed-up (or a loss) is no larger than what the baseline shows by itself.

        Args:
            ratio: Of the two means.
            num_runs: How many runs of each config these are over.
        """
        return ratio is not None and abs(math.log(ratio)) <= math.log(self.of_means(num_runs))

    @property
    def pairs_needed(self) -> int | None:
        """Pairs of confirm runs that find a difference of 5 % in four of five cases."""
        return pairs_needed(self.cv)

    @property
    def text(self) -> str:
        """The floor in a sentence."""
        return (
            f"{counted(self.num_runs, f'{self.stage} run')} of the baseline differ from each other "
            f"by up to {percent(self.largest_ratio - 1, digits=1)} (coefficient of variation "
            f"{percent(self.cv, digits=1)})"
        )

    @property
    def repeats_text(self) -> str:
        """What can be found at this noise, in a sentence."""
        pairs = self.pairs_needed
        needs = f"more than {_MOST_PAIRS}" if pairs is None else f"{pairs}"
        return (
            f"at this spread a difference of {percent(DIFFERENCE)} is found in four of five cases "
            f"with {needs} pairs of confirm runs"
        )

    def to_json(self) -> dict[str, Any]:
        """As ``recommended.json`` holds it."""
        drift = self.drift
        return {
            "stage": str(self.stage),
            "num_runs": self.num_runs,
            "largest_ratio": self.largest_ratio,
            "cv": self.cv,
            "pairs_needed_for_5_percent": self.pairs_needed,
            "text": self.text,
            "drift": None
            if drift is None
            else {
                "per_hour": drift.per_hour,
                "p_value": drift.p_value,
                "is_significant": drift.is_significant,
                "num_runs": drift.num_runs,
                "text": drift.text,
            },
        }


def noise_floor(trials: pd.DataFrame, sweep: Mapping[str, Any], rule: Rule) -> NoiseFloor | None:
    """The noise floor of a run; None where the baseline ran once in every stage."""
    runs = _baseline_runs(trials, sweep, rule)
    for stage in _STAGES:
        speeds = runs.loc[runs["stage"] == stage, rule.speed_column].to_numpy(dtype=np.float64)
        if len(speeds) > 1:
            logs = np.log(speeds)
            return NoiseFloor(
                stage=stage,
                num_runs=len(speeds),
                largest_ratio=float(np.exp(np.ptp(logs))),
                cv=float(np.sqrt(np.expm1(logs.var(ddof=1)))),
                drift=_drift(runs, rule),
            )
    return None


def _baseline_runs(trials: pd.DataFrame, sweep: Mapping[str, Any], rule: Rule) -> pd.DataFrame:
    """Its completed runs with a speed, of the conditions under which it ran most often."""
    grouped = with_groups(trials, sweep)
    if rule.speed_column not in grouped.columns:
        return grouped.iloc[:0]
    done = grouped[rows_of(grouped, sweep["baseline"])]
    done = done[(done["state"] == TrialState.COMPLETED) & (done[rule.speed_column] > 0)]
    counts = done[GROUP].value_counts(sort=False)
    return done[done[GROUP] == counts.idxmax()] if len(counts) else done


def _drift(runs: pd.DataFrame, rule: Rule) -> Drift | None:
    """A line through log speed over time, with a level of its own for each stage.

    Trials of one stage run beside others and of another alone, so that a step between
    stages is no drift. None with fewer than four runs in stages that have two or more.
    """
    if "started_at" not in runs.columns:
        return None
    timed = runs.dropna(subset=["started_at"])
    timed = timed[timed.groupby("stage")["stage"].transform("size") > 1]
    df = len(timed) - timed["stage"].nunique() - 1
    if len(timed) < MIN_RUNS_OF_DRIFT or df < 1:
        return None
    began_s = (timed["started_at"] - timed["started_at"].min()).dt.total_seconds()
    logs = rule.speed.sign * np.log(timed[rule.speed_column])
    x, y = (values - values.groupby(timed["stage"]).transform("mean") for values in (began_s, logs))
    if not (x != 0).any():
        return None
    slope = float((x * y).sum() / (x**2).sum())
    error = math.sqrt(float(((y - slope * x) ** 2).sum()) / df / float((x**2).sum()))
    return Drift(
        per_hour=math.expm1(slope * 3600),
        p_value=_p_value(slope / error, df) if error else float(slope == 0),
        num_runs=len(timed),
        span_s=float(began_s.max()),
    )


def _p_value(t: float, df: int) -> float:
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def pairs_needed(cv: float, *, difference: float = DIFFERENCE, power: float = POWER) -> int | None:
    """Pairs of runs with which a paired t test (5 %) finds a difference; None past fifty.

    Args:
        cv: Coefficient of variation of a run's speed, the same for both configs.
        difference: Relative difference of their speeds.
        power: Share of cases in which it is to be found.
    """
    return next((n for n in range(2, _MOST_PAIRS + 1) if _power(cv, difference, n) >= power), None)


def _power(cv: float, difference: float, num_pairs: int) -> float:
    """By the noncentral t distribution; the far tail is left out."""
    from scipy.special import nctdtr, stdtrit

    error = math.sqrt(2 * math.log1p(cv**2) / num_pairs)
    if error == 0:
        return 1.0
    df = num_pairs - 1
    return 1 - float(nctdtr(df, math.log1p(difference) / error, stdtrit(df, (1 + CONFIDENCE) / 2)))
