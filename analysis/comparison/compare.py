"""Two runs of a sweep, config by config: what changed, and whether it really did.

A speed depends on the machine, the versions and the cores as much as on the config.
Figures that differ in one of these are not compared, and the difference is named. It depends
on the day as well: what all configs have in common is told apart from what each one's own
change is, see :mod:`analysis.statistics.common_change`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.columns import as_text, params_of
from analysis.comparable import CONDITIONS, HARDWARE, OF_PROCESS, hardware_of
from analysis.comparison.environment import NOT_RECORDED, Difference, differences
from analysis.rule import Rule, rule_of
from analysis.statistics.common_change import (
    CommonChange,
    Estimates,
    median_interval,
    median_of,
    own_changes,
)
from analysis.statistics.intervals import CONFIDENCE
from analysis.statistics.pooling import counting
from orchestrator.errors import SweepError
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialState

ROW_KEYS: Final = ("device", "cores", "isolation")
"""Runs of one config are compared only where all of these are equal.

So are the hardware of the node and what else a row records of its conditions, see
:mod:`analysis.comparable`.
"""

SIGNIFICANCE: Final = 1 - CONFIDENCE

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run's trials table and its sweep."""

    trials: pd.DataFrame
    sweep: SweepRecord


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What :func:`compare` found.

    Attributes:
        table: One row a config and stage that both runs completed alike: ``params.*``,
            ``stage, device, cores, isolation, runs_first, runs_second, speed_first,
            speed_second`` (geometric means), ``ratio`` (how many times as fast the second
            is) with the 95 % interval ``low, high`` that its repeats give it (of these two
            sessions, not of what the host is on other days), ``own`` (the ratio over the
            median of the stage's other configs) with ``own_low, own_high``, its ``p_value``
            after Holm's correction, ``different``, ``accuracy_first, accuracy_second``.
        metric: The speed that was compared.
        common: What the configs of a stage have in common, for each stage of the table.
        kept_apart: Differences that keep runs of the same config and stage apart, with
            the number of times that each does.
        notes: What else differs: no condition, yet a reason to be careful.
        num_pairs: Pairs of runs that it rests on, see :mod:`analysis.comparison.sessions`.
    """

    table: pd.DataFrame
    metric: str
    common: tuple[CommonChange, ...]
    kept_apart: Mapping[Difference, int]
    notes: tuple[str, ...] = ()
    num_pairs: int = 1


def compare(first: Run, second: Run, *, across: Collection[str] = ()) -> Comparison:
    """Compares the completed runs of each config, stage by stage.

    ``different`` is True only where a config changed beyond what the others of its stage did,
    at 5 % over all the rows together: a t test on the logarithms with Welch's degrees of
    freedom, p values corrected by Holm's method. False does not mean that they are equal:
    with few runs a large difference can go unseen, and with one run on either side, or with
    no other config, there is nothing to test by.

    Args:
        first: The run that ratios are counted from.
        second: The other run.
        across: Keys that may differ, of the environment or of the rows: what is being
            compared.

    Raises:
        SweepError: The machines, versions or data differ, or no config is in both; the
            message names each key and both values.
    """
    apart = differences(first.sweep, second.sweep, across=across)
    if apart:
        options = " ".join(f"--across {difference.key}" for difference in apart)
        raise SweepError(
            "the runs cannot be compared; they differ in what a speed depends on:\n"
            + "\n".join(f"  {difference}" for difference in apart),
            f"where that is what you want to compare, say so: {options}",
        )
    rule = rule_of(first.sweep)
    keys = _row_keys(first, second)
    pairs = _pairs(first, second, rule, keys)
    kept_apart, alike = _split_by_keys(pairs, [key for key in keys if key not in across])
    if not alike.any():
        names = "\n".join(f"  {difference}" for difference in kept_apart)
        options = " ".join(f"--across {key}" for key in dict.fromkeys(d.key for d in kept_apart))
        raise SweepError(
            f"no config ran alike in both runs:\n{names}",
            f"where that is what you want to compare, say so: {options}",
        )
    compared = pairs[alike].reset_index(drop=True)
    return Comparison(
        table=_with_test(compared, rule, keys),
        metric=rule.speed.metric,
        common=tuple(_common(compared, rule)),
        kept_apart=kept_apart,
        notes=tuple(_notes(first.sweep, second.sweep)),
    )


def _row_keys(first: Run, second: Run) -> list[str]:
    """What must be equal for two rows to be compared, as far as either run records it."""
    recorded = {*first.trials.columns, *second.trials.columns}
    told = (*CONDITIONS, *OF_PROCESS)
    more = [key for key in told if key in recorded and key not in ROW_KEYS]
    return [*ROW_KEYS, *more, HARDWARE]


def _with_conditions(run: Run, keys: Sequence[str]) -> pd.DataFrame:
    cells: dict[str, Any] = {key: NOT_RECORDED for key in keys if key not in run.trials.columns}
    return run.trials.assign(**{**cells, HARDWARE: hardware_of(run.trials, run.sweep)})


def _notes(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    hashes = [sweep.source_hash for sweep in (first, second)]
    if None in hashes or hashes[0] == hashes[1]:
        return []
    return ["the trainable's source differs between the runs: so may what a step does"]


def _pairs(first: Run, second: Run, rule: Rule, keys: Sequence[str]) -> pd.DataFrame:
    ours, theirs = (
        _speeds(_with_knobs_of(_with_conditions(run, keys), run, other), rule, keys)
        for run, other in ((first, second), (second, first))
    )
    shared = ["stage", *(column for column in params_of(ours) if column in theirs.columns)]
    pairs = ours.merge(theirs, on=shared, suffixes=("_first", "_second"))
    if pairs.empty:
        raise SweepError("no config was completed in both runs", _disjoint(ours, theirs, shared))
    return pairs


def _with_knobs_of(trials: pd.DataFrame, run: Run, other: Run) -> pd.DataFrame:
    """The run's trials; a knob that only the other one knows is at its default there."""
    added = {
        f"params.{name}": as_text(value) if isinstance(value, (tuple, list)) else value
        for name, value in ((name, knob["default"]) for name, knob in other.sweep.knobs.items())
        if f"params.{name}" in other.trials.columns and f"params.{name}" not in run.trials.columns
    }
    return trials.assign(**added)


def _speeds(trials: pd.DataFrame, rule: Rule, keys: Sequence[str]) -> pd.DataFrame:
    """One row a config, stage and ``keys``: mean and variance of the log speed.

    Contaminated runs are left out where there are clean ones. An accuracy that was never
    reported is NaN.
    """
    if rule.speed_column not in trials.columns:
        raise SweepError(f"a run has no figure {rule.speed.metric}, which would be compared")
    if rule.accuracy_column not in trials.columns:
        trials = trials.assign(**{rule.accuracy_column: np.nan})
    done = trials[(trials["state"] == TrialState.COMPLETED) & (trials[rule.speed_column] > 0)]
    by = [*params_of(trials), "stage", *keys]
    done = done[counting(done, [done[column] for column in by])]
    return (
        done.assign(log=np.log(done[rule.speed_column]))
        .groupby(by, sort=False, dropna=False)
        .agg(
            runs=("log", "size"),
            log=("log", "mean"),
            variance=("log", "var"),
            accuracy=(rule.accuracy_column, "mean"),
        )
        .reset_index()
    )


def _disjoint(ours: pd.DataFrame, theirs: pd.DataFrame, columns: list[str]) -> str:
    """Names what keeps the configs apart: columns that have no value in common."""
    named = [
        f"{column}: {', '.join(map(str, ours[column].unique()))} and "
        f"{', '.join(map(str, theirs[column].unique()))}"
        for column in columns
        if not set(ours[column]) & set(theirs[column])
    ]
    return "they differ in " + "; ".join(named) if named else "no two configs are the same"


def _split_by_keys(
    pairs: pd.DataFrame, keys: Sequence[str]
) -> tuple[dict[Difference, int], npt.NDArray[np.bool_]]:
    kept_apart: dict[Difference, int] = {}
    alike = np.ones(len(pairs), dtype=np.bool_)
    for key in keys:
        values = zip(pairs[f"{key}_first"], pairs[f"{key}_second"], strict=True)
        for index, (one, other) in enumerate(values):
            if str(one) == str(other):
                continue
            alike[index] = False
            difference = Difference(key=key, first=str(one), second=str(other))
            kept_apart[difference] = kept_apart.get(difference, 0) + 1
    return kept_apart, alike


def _estimates(pairs: pd.DataFrame, rule: Rule) -> Estimates:
    """Log ratios with the variance of their two means; unknown where a side has one run."""
    parts = {s: pairs[f"variance_{s}"] / pairs[f"runs_{s}"] for s in ("first", "second")}
    variance = parts["first"] + parts["second"]
    # Welch and Satterthwaite: the degrees of freedom of a sum of two variances.
    df = variance**2 / sum(
        part**2 / (pairs[f"runs_{side}"] - 1).where(pairs[f"runs_{side}"] > 1)
        for side, part in parts.items()
    )
    gain = rule.speed.sign * (pairs["log_second"] - pairs["log_first"])
    return Estimates(
        logs=gain.to_numpy(dtype=np.float64),
        variances=variance.to_numpy(dtype=np.float64),
        df=df.to_numpy(dtype=np.float64),
    )


def _common(pairs: pd.DataFrame, rule: Rule) -> Iterator[CommonChange]:
    for stage, of_stage in pairs.groupby("stage", sort=False):
        every = _estimates(of_stage, rule)
        told = every.known if len(every.known) else every
        middle = median_of(told)
        ends = [float(end[0]) for end in middle.interval()]
        low, high = ends if len(every.known) else median_interval(every.logs)
        yield CommonChange(
            stage=str(stage),
            ratio=float(np.exp(middle.logs[0])),
            low=low,
            high=high,
            num_configs=len(told),
        )


def _own(pairs: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Each row's change over that of the others of its stage, with its test."""
    parts = []
    for _, of_stage in pairs.groupby("stage", sort=False):
        own = own_changes(_estimates(of_stage, rule))
        low, high = own.interval()
        cells = {"own": np.exp(own.logs), "own_low": low, "own_high": high}
        with np.errstate(invalid="ignore"):
            p_values = two_sided(own.logs / np.sqrt(own.variances), own.df)
        parts.append(pd.DataFrame({**cells, "p_value": p_values}, index=of_stage.index))
    table = pd.concat(parts).sort_index()
    p_values = holm(table["p_value"].to_numpy(dtype=np.float64))
    return table.assign(p_value=p_values, different=p_values < SIGNIFICANCE)


def _with_test(pairs: pd.DataFrame, rule: Rule, row_keys: Sequence[str]) -> pd.DataFrame:
    """Adds ratios, intervals and tests; NaN where a side has a single run."""
    estimates = _estimates(pairs, rule)
    low, high = estimates.interval()
    keys = {key: _both(pairs[f"{key}_first"], pairs[f"{key}_second"]) for key in row_keys}
    kept = [c for c in pairs.columns if c.startswith(("params.", "runs_", "accuracy_"))]
    ratios = pairs[["stage", *kept]].assign(
        **keys,
        speed_first=np.exp(pairs["log_first"]),
        speed_second=np.exp(pairs["log_second"]),
        ratio=np.exp(estimates.logs),
        low=low,
        high=high,
    )
    table = ratios.join(_own(pairs, rule))
    # What can be told comes first.
    return table.sort_values("p_value", kind="stable", ignore_index=True)


def _both(first: pd.Series[Any], second: pd.Series[Any]) -> pd.Series[Any]:
    """A condition's value, or both where it may differ."""
    texts = first.astype("str"), second.astype("str")
    alike = texts[0] == texts[1]
    return first if alike.all() else texts[0].where(alike, texts[0] + " and " + texts[1])


def two_sided(t: Floats, df: Floats) -> Floats:
    """How likely values of Student's t as far from 0 are, either way."""
    from scipy.special import stdtr

    return np.asarray(2 * stdtr(df, -np.abs(t)), dtype=np.float64)


def holm(p_values: Floats) -> Floats:
    """Holm's step-down correction; NaN, where there was no test, stays and does not count."""
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    ascending = tested[np.argsort(p_values[tested], kind="stable")]
    factors = np.arange(len(ascending), 0, -1)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(factors * p_values[ascending]), 1.0)
    return adjusted
