"""Figures to a target, as the whole run tells them: the columns that a trial alone cannot fill.

While a run goes on a search is told them by what is known by then
(:class:`orchestrator.derived.DerivedFigures`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import rows_of
from orchestrator.analysis.rule import Rule
from orchestrator.derived import CLOCK, Point, best_of, first_there, target_value
from orchestrator.trial import Stage

TIME: Final = "metrics.time_to_accuracy_s"
GOODPUT: Final = "metrics.goodput"
_SPEED: Final = "metrics.samples_per_s"


def with_derived(
    trials: pd.DataFrame, curves: pd.DataFrame, rule: Rule, baseline: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the trials with their figures to the rule's target, by the best of all curves.

    A target near the best is taken from the curves of stage ``train``. Without curves, while a run
    goes on, and without a target the table is returned as it is.

    Args:
        trials: One row a trial.
        curves: One row a report; those of a paused curve under its last trial.
        rule: What is to be reached.
        baseline: The config whose samples to the target ``goodput`` is relative to, by the median
            of its runs; where it was never there the first trial that was stands in.
    """
    target = rule.target
    if target is None or curves.empty or f"metrics.{target.metric}" not in curves.columns:
        return trials
    points = _points(curves, f"metrics.{target.metric}")
    searched = set(trials.loc[trials["stage"] == Stage.TRAIN, "trial_id"])
    bests = [best_of(target, curve) for trial, curve in points.items() if trial in searched]
    value = target_value(target, bests)
    there = [first_there(points.get(trial, ()), target, value) for trial in trials["trial_id"]]
    samples = pd.Series([np.nan if at is None else at.samples for at in there], trials.index)
    times = pd.Series([np.nan if at is None else at.clock_s for at in there], trials.index)
    reference = _reference(samples, trials, baseline)
    speeds = trials[_SPEED] if _SPEED in trials.columns else np.nan
    return trials.assign(**{TIME: times, GOODPUT: speeds * reference / samples})


def _points(curves: pd.DataFrame, column: str) -> dict[str, list[Point]]:
    """Return the curve of each trial, by its id."""
    known = curves.dropna(subset=[column])
    clock = known["elapsed_s"]
    if f"metrics.{CLOCK}" in known.columns:
        clock = known[f"metrics.{CLOCK}"].fillna(clock)
    points: dict[str, list[Point]] = {}
    cells = zip(known["trial_id"], clock, known["samples"], known[column], strict=True)
    for trial, clock_s, samples, value in cells:
        point = Point(clock_s=float(clock_s), samples=float(samples), value=float(value))
        points.setdefault(str(trial), []).append(point)
    return points


def _reference(samples: pd.Series[Any], trials: pd.DataFrame, baseline: Mapping[str, Any]) -> float:
    """Return the samples that the baseline took, or the first trial that was there."""
    searched = samples[trials["stage"] == Stage.TRAIN].dropna()
    own = searched[rows_of(trials, baseline)[searched.index]]
    if own.empty:
        return float(searched.iloc[0]) if len(searched) else float("nan")
    return float(own.median())
