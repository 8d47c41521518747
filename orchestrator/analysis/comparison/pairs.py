"""The speeds of each config in two runs, where they may be compared.

A speed depends on the machine, the versions and the cores as much as on the config. Runs, and rows
of them, that differ in one of these are not compared, and the difference is named.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import CONDITIONS, OF_PROCESS
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.pooling import counting, disturbed, speed_cells
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError
from orchestrator.provenance.environment import TIMED_PACKAGES
from orchestrator.storage.history import cell_text
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialState

ROW_KEYS: Final = ("device", "cores", "isolation")
"""Runs of one config are compared only where all of these are equal.

So is what else a row records of its conditions, see :mod:`orchestrator.analysis.comparable`.
"""

_NOT_RECORDED: Final = "not recorded"
_FIELDS: Final = ("trainable", "data", "data_fingerprint", "cores_per_trial")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A condition of a speed that is not the same in two runs."""

    key: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.key}: {self.first} and {self.second}"


def _environment_of(sweep: SweepRecord) -> dict[str, str]:
    """Return the conditions of all trials of a sweep, by key.

    Versions of packages that run outside a timed step are no condition.
    """
    keys = {name: str(getattr(sweep, name)) for name in _FIELDS if getattr(sweep, name) != ""}
    for name, value in sweep.hardware.items():
        # Total memory varies by a few MiB with the kernel.
        keys[f"hardware.{name}"] = f"{value:.0f}" if isinstance(value, float) else str(value)
    versions = sweep.versions
    return keys | {f"versions.{n}": str(versions[n]) for n in TIMED_PACKAGES if n in versions}


def require_alike(first: SweepRecord, second: SweepRecord, across: Collection[str]) -> None:
    """Refuse two sweeps if their environments differ in a key that is not in ``across``.

    Raises:
        SweepError: They do; the message names each key and both values.
    """
    ours, theirs = _environment_of(first), _environment_of(second)
    apart = [
        Difference(
            key=key, first=ours.get(key, _NOT_RECORDED), second=theirs.get(key, _NOT_RECORDED)
        )
        for key in dict.fromkeys([*ours, *theirs])
        if ours.get(key) != theirs.get(key) and key not in across
    ]
    if apart:
        raise refusal("the runs cannot be compared; they differ in what a speed depends on:", apart)


def refusal(what: str, apart: Collection[Difference]) -> SweepError:
    """Return the refusal of runs that differ, with the options that allow it."""
    lines = "\n".join(f"  {difference}" for difference in apart)
    options = " ".join(f"--across {key}" for key in dict.fromkeys(each.key for each in apart))
    hint = f"where that is what you want to compare, say so: {options}"
    return SweepError(f"{what}\n{lines}", hint)


def row_keys(first: RunTables, second: RunTables) -> list[str]:
    """Return the columns that must be equal in two rows, as far as either run records them.

    Versions are compared package by package, from the records of the sweeps.
    """
    recorded = {*first.trials.columns, *second.trials.columns} - {*ROW_KEYS, "tags.versions"}
    more = [key for key in (*CONDITIONS, *OF_PROCESS) if key in recorded]
    return [*ROW_KEYS, *more]


def paired_speeds(first: RunTables, second: RunTables, keys: Sequence[str]) -> pd.DataFrame:
    """Return a row for each config and stage that both runs completed, and ``keys`` of either.

    The first run's rule names the figure of both. Columns: ``stage``, ``params.*``, and with the
    suffixes ``_first`` and ``_second``: ``keys``, ``runs``, the mean ``log`` and the ``variance``
    of the log speed, how many of the runs were ``clean``, the mean ``accuracy`` with its ``spread``
    (a variance between runs) over ``trained`` runs.

    Raises:
        SweepError: No config is in both, or a run has no speed.
    """
    ours, theirs = (
        _speeds(_with_conditions(run, other, keys), first.rule, keys)
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
        both = (ours, theirs)
        apart = [
            f"{column}: " + " and ".join(", ".join(map(str, t[column].unique())) for t in both)
            for column in shared
            if not set(ours[column]) & set(theirs[column])
        ]
        hint = f"they differ in {'; '.join(apart)}" if apart else "no two configs are the same"
        raise SweepError("no config was completed in both runs", hint)
    return pairs


def mismatches(
    pairs: pd.DataFrame, keys: Collection[str]
) -> tuple[dict[Difference, int], npt.NDArray[np.bool_]]:
    """Return how often each difference in ``keys`` occurs, and the rows that have none."""
    counts, alike = Counter[Difference](), np.ones(len(pairs), dtype=np.bool_)
    for key in keys:
        ours, theirs = (pairs[f"{key}_{side}"].map(str) for side in ("first", "second"))
        differ = (ours != theirs).to_numpy()
        alike &= ~differ
        both = zip(ours[differ], theirs[differ], strict=True)
        counts.update(Difference(key=key, first=one, second=other) for one, other in both)
    return counts, alike


def lost_configs(first: RunTables, second: RunTables) -> pd.DataFrame:
    """Return the knobs of configs that completed in the first run and only failed in the second.

    Infeasible ones count as failed. A config that the second run did not try is not lost.
    """
    knobs = [column for column in params_of(first.trials) if column in second.trials.columns]

    def of(run: RunTables, *states: TrialState) -> pd.DataFrame:
        rows = run.trials[run.trials["state"].isin([str(state) for state in states])]
        return rows[knobs].drop_duplicates()

    failed = of(second, TrialState.FAILED, TrialState.INFEASIBLE)
    lost, done = of(first, TrialState.COMPLETED).merge(failed), of(second, TrialState.COMPLETED)
    return pd.concat([lost, done, done]).drop_duplicates(keep=False)


def _with_conditions(run: RunTables, other: RunTables, keys: Sequence[str]) -> pd.DataFrame:
    """Return the run's trials with ``keys``; a knob of the other alone is at its default there."""
    trials = run.trials
    cells: dict[str, Any] = {key: _NOT_RECORDED for key in keys if key not in trials.columns}
    for name, knob in other.sweep.knobs.items():
        column, default = f"params.{name}", knob.default
        if column in other.trials.columns and column not in trials.columns:
            cells[column] = cell_text(default) if isinstance(default, (tuple, list)) else default
    return trials.assign(**cells)


def _speeds(trials: pd.DataFrame, rule: Rule, keys: Sequence[str]) -> pd.DataFrame:
    """Return a row for each config, stage and ``keys``: mean and variance of the log speed.

    Disturbed runs are left out of the speed where there are clean ones. An
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
    keys_of = [done[column] for column in by]
    speeds = speed_cells(done, keys_of, rule.speed.metric)[["num", "mean", "variance"]]
    speeds = speeds.rename(columns={"num": "runs", "mean": "log"})
    clean = (~disturbed(done)).groupby(keys_of, sort=False, dropna=False).sum()
    return speeds.assign(clean=clean).join(accuracy).reset_index()
