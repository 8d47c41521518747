"""Several pairs of runs of the same two versions, compared together.

The host on the day differs within each pair, but over several pairs it favours either version as
often. So the pairs are the draws here: each has one ratio of a config, one that all configs have in
common, and one of the config over that. Their means are geometric, and their intervals Student's t
over pairs, which hold for other days as well. The two runs of a pair are best run one after the
other, with the order changed from pair to pair.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import CONDITIONS, HARDWARE, OF_PROCESS
from orchestrator.analysis.comparison.changes import (
    TOGETHER,
    TOLERANCE,
    Figure,
    against,
    judged,
)
from orchestrator.analysis.comparison.compare import Comparison, compare, ordered, with_changes
from orchestrator.analysis.comparison.pairs import ROW_KEYS, require_alike
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError


def compare_sessions(
    pairs: Sequence[tuple[RunTables, RunTables]],
    *,
    across: Collection[str] = (),
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Compare the first runs of all pairs with the second ones.

    One pair is compared as :func:`compare` does. Of several the table has the configs that are in
    all of them.

    Raises:
        SweepError: A pair cannot be compared, the pairs are not alike, or they have no config in
            common.
    """
    comparisons = [
        compare(first, second, across=across, tolerance=tolerance) for first, second in pairs
    ]
    (reference, _), *others = pairs
    what = "the pairs cannot be combined; their first runs differ in"
    for first, _ in others:
        require_alike(reference.sweep, first.sweep, across, what=what)
    return comparisons[0] if len(comparisons) == 1 else combined(comparisons)


def combined(comparisons: Sequence[Comparison]) -> Comparison:
    """Return several comparisons of the same two versions as one.

    Raises:
        SweepError: They have no config in common.
    """
    reference = comparisons[0]
    goals = {o.metric: o.sign for o in reference.sweep.objectives}
    rows, ids = _in_all(comparisons)
    table = _firsts(rows, ids)
    fell = goals.get(reference.accuracy, 1.0) * (rows["accuracy_second"] - rows["accuracy_first"])
    found = {reference.metric: np.log(rows["ratio"]), reference.accuracy: fell}
    figures = [
        Figure(
            metric=metric,
            is_ratio=metric == reference.metric,
            rows=_over_pairs(values, ids).assign(
                stage=table["stage"], limit=_limit(reference.changes, metric)
            ),
            own=_over_pairs(np.log(rows["own"]), ids) if metric == reference.metric else None,
            together=_together(comparisons, metric),
        )
        for metric, values in found.items()
        if metric in set(reference.changes["metric"])
    ]
    table, changes = ordered(with_changes(table, figures[0]), judged(figures))
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
    keys += [
        name
        for name in dict.fromkeys((*ROW_KEYS, *CONDITIONS, *OF_PROCESS, HARDWARE))
        if all(name in table.columns for table in tables)
        and any((t.groupby(keys, dropna=False)[name].nunique() > 1).any() for t in tables)
    ]
    parts = [table.assign(pair=number, own=_own(table)) for number, table in enumerate(tables)]
    rows = pd.concat(parts, ignore_index=True)
    texts = {name: rows[name].astype("str") for name in keys if not name.startswith("params.")}
    ids = rows.assign(**texts).groupby(keys, sort=False, dropna=False).ngroup()
    is_everywhere = rows.groupby(ids)["pair"].transform("nunique") == len(tables)
    if not is_everywhere.any():
        raise SweepError("no config was completed in all pairs of runs")
    return rows[is_everywhere], ids[is_everywhere]


def _firsts(rows: pd.DataFrame, ids: pd.Series[int]) -> pd.DataFrame:
    """Return a row a config: runs summed, accuracies averaged, speeds averaged on the log scale."""
    groups = rows.groupby(ids, sort=False)
    firsts = rows.drop(columns="pair").groupby(ids, sort=False).head(1).set_index(ids.unique())
    for side in ("first", "second"):
        logs = np.log(rows[f"speed_{side}"])
        firsts = firsts.assign(
            **{
                f"runs_{side}": groups[f"runs_{side}"].sum(),
                f"clean_{side}": groups[f"clean_{side}"].sum(),
                f"accuracy_{side}": groups[f"accuracy_{side}"].mean(),
                f"speed_{side}": np.exp(logs.groupby(ids, sort=False).mean()),
            }
        )
    return firsts.reset_index(drop=True)


def _own(table: pd.DataFrame) -> pd.Series[Any]:
    """Return each row's ratio over the median of the others' of its stage; NaN for none."""

    def over_others(ratios: pd.Series[Any]) -> pd.Series[Any]:
        return ratios / [ratios.drop(row).median() for row in ratios.index]

    return table.groupby("stage", sort=False)["ratio"].transform(over_others)


def _over_pairs(values: pd.Series[Any], ids: pd.Series[int]) -> pd.DataFrame:
    """Return the means over pairs, with their errors, a group each."""
    of_id = values.groupby(ids, sort=False).agg(["mean", "var", "count"]).reset_index(drop=True)
    variance = of_id["var"] / of_id["count"]
    return pd.DataFrame({"log": of_id["mean"], "variance": variance, "df": of_id["count"] - 1.0})


def _limit(changes: pd.DataFrame, metric: str) -> float:
    """Return the limit of the changes of a figure on their scale: the median one."""
    of_metric = changes[changes["metric"] == metric]
    limit = float(of_metric["limit_high"].median())
    return math.log(limit) if of_metric["is_ratio"].all() else limit


def _together(comparisons: Sequence[Comparison], metric: str) -> dict[str, pd.DataFrame]:
    """Return the changes that the configs of each stage have in common, over the pairs."""
    changes = pd.concat([each.changes for each in comparisons], ignore_index=True)
    common = changes[(changes["row"] == TOGETHER) & (changes["metric"] == metric)]
    found = {}
    for stage, of_stage in common.groupby("stage", sort=False):
        if len(of_stage) < len(comparisons):
            continue
        values = np.log(of_stage["change"]) if of_stage["is_ratio"].all() else of_stage["change"]
        found[str(stage)] = against(
            _over_pairs(values, pd.Series(0, index=values.index)),
            _limit(of_stage, metric),
        ).assign(num_configs=int(of_stage["num_configs"].min()))
    return found
