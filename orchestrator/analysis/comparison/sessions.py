"""Two versions of a sweep over several sessions of each: pairs of runs, compared together.

The host on the day differs within each pair, but over several pairs it favours either version as
often. So the pairs are the draws here: each has one ratio of a config, one that all configs have in
common, and one of the config over that. Their means are geometric, and their intervals Student's t
over pairs, which hold for other days as well. The two runs of a pair are best run one after the
other, with the order changed from pair to pair.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import CONDITIONS, HARDWARE, OF_PROCESS
from orchestrator.analysis.comparison.changes import (
    TOGETHER,
    TOLERANCE,
    Figure,
    Held,
    Stages,
    held,
    judged,
)
from orchestrator.analysis.comparison.compare import Comparison, compare, ordered, with_own
from orchestrator.analysis.comparison.environment import differences
from orchestrator.analysis.comparison.figures import stages_of
from orchestrator.analysis.comparison.pairs import ROW_KEYS
from orchestrator.analysis.comparison.text import pairs_differ
from orchestrator.analysis.statistics.common_change import Estimates
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError

_SUMMED: Final = ("runs_first", "runs_second")
_AVERAGED: Final = ("accuracy_first", "accuracy_second")
_SPEEDS: Final = ("speed_first", "speed_second")


def compare_sessions(
    pairs: Sequence[tuple[RunTables, RunTables]],
    *,
    across: Collection[str] = (),
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Compare the first runs of all pairs with the second ones.

    One pair is compared as :func:`~orchestrator.analysis.comparison.compare.compare` does. Of
    several the table has the configs that are in all of them.

    Raises:
        SweepError: A pair cannot be compared, the pairs are not alike, or they have no config in
            common.
    """
    comparisons = [
        compare(first, second, across=across, tolerance=tolerance) for first, second in pairs
    ]
    (reference, _), *others = pairs
    for first, _ in others:
        if apart := differences(reference.sweep, first.sweep, across=across):
            raise pairs_differ(apart)
    return comparisons[0] if len(comparisons) == 1 else combined(comparisons)


def combined(comparisons: Sequence[Comparison]) -> Comparison:
    """Return several comparisons of the same two versions as one.

    Raises:
        SweepError: They have no config in common.
    """
    reference = comparisons[0]
    rows, ids = _in_all(comparisons)
    table = _firsts(rows, ids)
    stages = stages_of(table)
    speed = Figure(
        metric=reference.metric,
        is_ratio=True,
        limits=_limits(reference, reference.metric, len(table)),
        rows=_over_pairs(np.log(rows["ratio"]), ids),
        own=_over_pairs(np.log(rows["own"]), ids),
        together=_together(comparisons, reference.metric, stages),
    )
    figures = [speed]
    if reference.accuracy in set(reference.changes["metric"]):
        figures.append(_accuracy(comparisons, rows, ids, stages))
    low, high = speed.rows.interval()
    table = table.assign(ratio=np.exp(speed.rows.logs), low=low, high=high)
    table, changes = ordered(with_own(table, speed), judged(figures, stages))
    return replace(
        reference,
        table=table,
        changes=changes,
        mismatches={key: n for each in comparisons for key, n in each.mismatches.items()},
        notes=tuple(dict.fromkeys(note for each in comparisons for note in each.notes)),
        num_pairs=len(comparisons),
    )


def _in_all(comparisons: Sequence[Comparison]) -> tuple[pd.DataFrame, pd.Series[int]]:
    """Return the rows of the configs and stages that all tables have, and which each is of.

    A config that a run measured under several conditions is apart under each.
    """
    tables = [each.table for each in comparisons]
    keys = ["stage", *(c for c in params_of(tables[0]) if all(c in t.columns for t in tables))]
    parts = [table.assign(pair=number, own=_own(table)) for number, table in enumerate(tables)]
    rows = pd.concat(parts, ignore_index=True)
    ids = _numbered(rows, [*keys, *_telling_apart(tables, keys)])
    is_everywhere = rows.groupby(ids)["pair"].transform("nunique") == len(tables)
    if not is_everywhere.any():
        raise SweepError("no config was completed in all pairs of runs")
    return rows[is_everywhere], ids[is_everywhere]


def _telling_apart(tables: Sequence[pd.DataFrame], keys: list[str]) -> list[str]:
    """Return the conditions that rows of one config and stage of one run differ in."""
    conditions = dict.fromkeys((*ROW_KEYS, *CONDITIONS, *OF_PROCESS, HARDWARE))
    return [
        name
        for name in conditions
        if all(name in table.columns for table in tables)
        and any(
            _numbered(t, keys).nunique() < _numbered(t, [*keys, name]).nunique() for t in tables
        )
    ]


def _numbered(rows: pd.DataFrame, keys: list[str]) -> pd.Series[int]:
    """Return a number for each row, the same for rows that are alike in ``keys``.

    Conditions are compared as texts: where they may differ the table has both.
    """
    texts = {name: rows[name].astype("str") for name in keys if not name.startswith("params.")}
    return rows.assign(**texts).groupby(keys, sort=False, dropna=False).ngroup()


def _firsts(rows: pd.DataFrame, ids: pd.Series[int]) -> pd.DataFrame:
    """Return a row a config: runs summed, accuracies averaged, speeds averaged on the log scale."""
    groups = rows.groupby(ids, sort=False)
    firsts = rows.drop(columns="pair").groupby(ids, sort=False).head(1).set_index(ids.unique())
    return firsts.assign(
        **{name: groups[name].sum() for name in _SUMMED},
        **{name: groups[name].mean() for name in _AVERAGED},
        **{name: np.exp(np.log(rows[name]).groupby(ids, sort=False).mean()) for name in _SPEEDS},
    ).reset_index(drop=True)


def _own(table: pd.DataFrame) -> pd.Series[Any]:
    """Return each row's ratio over the median of the others' of its stage; NaN for none."""
    return table.groupby("stage", sort=False)["ratio"].transform(_over_others)


def _over_others(ratios: pd.Series[Any]) -> pd.Series[Any]:
    if len(ratios) < 2:
        return ratios * np.nan
    return ratios / [np.median(np.delete(ratios, index)) for index in range(len(ratios))]


def _over_pairs(values: pd.Series[Any], ids: pd.Series[int]) -> Estimates:
    """Return the means over pairs, with their errors, a group each."""
    groups = values.groupby(ids, sort=False)
    count = groups.count().to_numpy(dtype=np.float64)
    return Estimates(
        logs=groups.mean().to_numpy(dtype=np.float64),
        variances=groups.var().to_numpy(dtype=np.float64) / count,
        df=np.asarray(count - 1, dtype=np.float64),
    )


def _accuracy(
    comparisons: Sequence[Comparison], rows: pd.DataFrame, ids: pd.Series[int], stages: Stages
) -> Figure:
    reference = comparisons[0]
    goals = {o.metric: o.sign for o in reference.sweep.objectives}
    sign = goals.get(reference.accuracy, 1.0)
    return Figure(
        metric=reference.accuracy,
        is_ratio=False,
        limits=_limits(reference, reference.accuracy, ids.nunique()),
        rows=_over_pairs(sign * (rows["accuracy_second"] - rows["accuracy_first"]), ids),
        own=None,
        together=_together(comparisons, reference.accuracy, stages),
    )


def _limits(comparison: Comparison, metric: str, count: int) -> npt.NDArray[np.float64]:
    """Return the limit of each config's change: that of the first pair's configs together."""
    changes = comparison.changes
    of_metric = changes[changes["metric"] == metric]
    limit = of_metric["limit_high"].median()
    return np.full(count, np.log(limit) if of_metric["is_ratio"].all() else limit)


def _together(comparisons: Sequence[Comparison], metric: str, stages: Stages) -> dict[str, Held]:
    """Return the changes that the configs of each stage have in common, over the pairs."""
    changes = pd.concat([each.changes for each in comparisons], ignore_index=True)
    common = changes[(changes["row"] == TOGETHER) & (changes["metric"] == metric)]
    found = {}
    for stage, of_stage in common.groupby("stage", sort=False):
        if len(of_stage) < len(comparisons) or stage not in stages:
            continue
        is_ratio = bool(of_stage["is_ratio"].all())
        values = np.log(of_stage["change"]) if is_ratio else of_stage["change"]
        limit = of_stage["limit_high"].median()
        over_pairs = _over_pairs(values, pd.Series(0, index=values.index))
        found[str(stage)] = held(
            over_pairs,
            float(np.log(limit) if is_ratio else limit),
            num_configs=int(of_stage["num_configs"].min()),
        )
    return found
