"""The speeds of each config in two runs, where they may be compared.

A speed depends on the machine, the versions and the cores as much as on the config. Figures that
differ in one of these are not compared, and the difference is named.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import as_text, params_of
from orchestrator.analysis.comparable import CONDITIONS, HARDWARE, OF_PROCESS, hardware_of
from orchestrator.analysis.comparison.environment import NOT_RECORDED, Difference
from orchestrator.analysis.comparison.text import no_config_in_both
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.pooling import counting
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError
from orchestrator.trial import TrialState

ROW_KEYS: Final = ("device", "cores", "isolation")
"""Runs of one config are compared only where all of these are equal.

So are the hardware of the node and what else a row records of its conditions, see
:mod:`orchestrator.analysis.comparable`.
"""

_DONE: Final = (TrialState.COMPLETED,)
_LOST: Final = (TrialState.FAILED, TrialState.INFEASIBLE)


def row_keys(first: RunTables, second: RunTables) -> list[str]:
    """Return the columns that must be equal in two rows, as far as either run records them."""
    recorded = {*first.trials.columns, *second.trials.columns}
    more = [key for key in (*CONDITIONS, *OF_PROCESS) if key in recorded and key not in ROW_KEYS]
    return [*ROW_KEYS, *more, HARDWARE]


def paired_speeds(first: RunTables, second: RunTables, keys: Sequence[str]) -> pd.DataFrame:
    """Return a row for each config and stage that both runs completed, and ``keys`` of either.

    Both are looked at by the first run's rule: one figure has a ratio, two figures have none.
    Columns: ``stage``, ``params.*``, and with the suffixes ``_first`` and ``_second``: ``keys``,
    ``runs``, the mean ``log`` and the ``variance`` of the log speed, the mean ``accuracy`` with
    its ``spread`` (a variance between runs) over ``trained`` runs.

    Raises:
        SweepError: No config is in both, or a run has no speed.
    """
    ours, theirs = (
        _speeds(_with_knobs_of(_with_conditions(run, keys), other), first.rule, keys)
        for run, other in ((first, second), (second, first))
    )
    for which, speeds in (("first", ours), ("second", theirs)):
        if speeds.empty:
            raise SweepError(
                f"the {which} run has no completed trial with {first.rule.speed.metric}",
                "only completed trials are compared",
            )
    shared = ["stage", *(column for column in params_of(ours) if column in theirs.columns)]
    pairs = ours.merge(theirs, on=shared, suffixes=("_first", "_second"))
    if pairs.empty:
        raise no_config_in_both(_disjoint(ours, theirs, shared))
    return pairs


def mismatches(
    pairs: pd.DataFrame, keys: Collection[str]
) -> tuple[dict[Difference, int], npt.NDArray[np.bool_]]:
    """Return how often each difference in ``keys`` occurs, and the rows that have none."""
    counts: dict[Difference, int] = {}
    alike = np.ones(len(pairs), dtype=np.bool_)
    for key in keys:
        values = zip(pairs[f"{key}_first"], pairs[f"{key}_second"], strict=True)
        for index, (value, other_value) in enumerate(values):
            if str(value) == str(other_value):
                continue
            alike[index] = False
            difference = Difference(key=key, first=str(value), second=str(other_value))
            counts[difference] = counts.get(difference, 0) + 1
    return counts, alike


def lost_configs(first: RunTables, second: RunTables) -> pd.DataFrame:
    """Return the knobs of configs that completed in the first run and only failed in the second.

    Infeasible ones count as failed. A config that the second run did not try is not lost.
    """
    knobs = [column for column in params_of(first.trials) if column in second.trials.columns]
    done, tried = first.trials[_is(first, _DONE)], second.trials[_is(second, _LOST)]
    lost = done[knobs].drop_duplicates().merge(tried[knobs].drop_duplicates(), on=knobs)
    still_done = second.trials[_is(second, _DONE)][knobs].drop_duplicates()
    marked = lost.merge(still_done, on=knobs, how="left", indicator=True)
    return marked.loc[marked["_merge"] == "left_only", knobs]


def _is(run: RunTables, states: Collection[TrialState]) -> pd.Series[bool]:
    return run.trials["state"].isin([str(state) for state in states])


def _with_conditions(run: RunTables, keys: Sequence[str]) -> RunTables:
    cells: dict[str, Any] = {key: NOT_RECORDED for key in keys if key not in run.trials.columns}
    cells |= {HARDWARE: hardware_of(run.trials, run.sweep.nodes)}
    return replace(run, trials=run.trials.assign(**cells))


def _with_knobs_of(run: RunTables, other: RunTables) -> pd.DataFrame:
    """Return the run's trials; a knob that only the other one knows is at its default there."""
    added = {
        f"params.{name}": as_text(knob.default)
        if isinstance(knob.default, (tuple, list))
        else knob.default
        for name, knob in other.sweep.knobs.items()
        if f"params.{name}" in other.trials.columns and f"params.{name}" not in run.trials.columns
    }
    return run.trials.assign(**added)


def _speeds(trials: pd.DataFrame, rule: Rule, keys: Sequence[str]) -> pd.DataFrame:
    """Return a row for each config, stage and ``keys``: mean and variance of the log speed.

    Contaminated runs are left out of the speed where there are clean ones. An
    accuracy that was never reported is NaN.
    """
    if rule.speed_column not in trials.columns:
        raise SweepError(f"a run has no figure {rule.speed.metric}, which would be compared")
    if rule.accuracy_column not in trials.columns:
        trials = trials.assign(**{rule.accuracy_column: np.nan})
    completed = trials[trials["state"] == TrialState.COMPLETED]
    by = [*params_of(trials), "stage", *keys]
    accuracy = (
        completed.groupby(by, sort=False, dropna=False)[rule.accuracy_column]
        .agg(["mean", "var", "count"])
        .set_axis(["accuracy", "spread", "trained"], axis="columns")
    )
    done = completed[completed[rule.speed_column] > 0]
    done = done[counting(done, [done[column] for column in by])]
    speeds = (
        done.assign(log=np.log(done[rule.speed_column]))
        .groupby(by, sort=False, dropna=False)
        .agg(runs=("log", "size"), log=("log", "mean"), variance=("log", "var"))
    )
    return speeds.join(accuracy).reset_index()


def _disjoint(ours: pd.DataFrame, theirs: pd.DataFrame, columns: list[str]) -> list[Difference]:
    """Return the columns that have no value in common, with the values of both."""
    return [
        Difference(
            key=column,
            first=", ".join(map(str, ours[column].unique())),
            second=", ".join(map(str, theirs[column].unique())),
        )
        for column in columns
        if not set(ours[column]) & set(theirs[column])
    ]
