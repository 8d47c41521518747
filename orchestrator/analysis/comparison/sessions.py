"""Several pairs of runs of the same two versions, compared together.

The host on the day differs within each pair, but over several pairs it favours either version as
often. So the pairs are the draws here: each has one ratio of a config, one that all configs have in
common, and one of the config over that. Their means are geometric, and their intervals Student's t
over pairs, which are valid for other days as well. Best run the two runs of a pair one after the
other, and change their order from pair to pair.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparison import compare as pairwise
from orchestrator.analysis.comparison.changes import TOLERANCE, Figure, against, judged
from orchestrator.analysis.comparison.pairs import ROW_KEYS, require_alike
from orchestrator.analysis.rule import rule_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError


def compare_sessions(
    pairs: Sequence[tuple[RunTables, RunTables]],
    *,
    across: Collection[str] = (),
    tolerance: float = TOLERANCE,
) -> pairwise.Comparison:
    """Compare the first runs of all pairs with the second ones.

    One pair is compared as by :func:`compare`. With several, the table has the configs that are in
    all of them.

    Raises:
        SweepError: A pair cannot be compared, the pairs are not alike, or they have no config in
            common.
    """
    comparisons = [
        pairwise.compare(first, second, across=across, tolerance=tolerance)
        for first, second in pairs
    ]
    (reference, _), *others = pairs
    what = "the pairs cannot be combined; their first runs differ in"
    for first, _ in others:
        require_alike(reference.sweep, first.sweep, across, what=what)
    return comparisons[0] if len(comparisons) == 1 else combined(comparisons)


def combined(comparisons: Sequence[pairwise.Comparison]) -> pairwise.Comparison:
    """Return several comparisons of the same two versions as one.

    Raises:
        SweepError: They have no config in common.
    """
    reference = comparisons[0]
    rule = rule_of(reference.sweep)
    rows, ids = _in_all(comparisons)
    table = _means_of(rows, ids)
    limits = pairwise.limits_of(rule, reference.sweep, reference.tolerance, table["accuracy_first"])
    own, speed = _over_pairs(np.log(rows["own"]), ids), rule.speed.metric
    figures = [_figure(speed, np.log(rows["ratio"]), rows, ids, limits[speed], own)]
    if len(limits) > 1:
        fell = rule.accuracy.sign * (rows["accuracy_second"] - rows["accuracy_first"])
        metric = rule.accuracy.metric
        figures.append(_figure(metric, fell, rows, ids, limits[metric]))
    table, changes = pairwise.ordered(pairwise.with_changes(table, figures[0]), judged(figures))
    return replace(
        reference,
        table=table,
        changes=changes,
        mismatches={key: n for each in comparisons for key, n in each.mismatches.items()},
        notes=tuple(dict.fromkeys(note for each in comparisons for note in each.notes)),
        num_pairs=len(comparisons),
    )


def _in_all(comparisons: Sequence[pairwise.Comparison]) -> tuple[pd.DataFrame, pd.Series[int]]:
    """Return the rows of the configs and stages that all tables have, and a number of each."""
    tables = [each.table.assign(pair=number) for number, each in enumerate(comparisons)]
    params = [c for c in params_of(tables[0]) if all(c in table.columns for table in tables)]
    keys = ["stage", *ROW_KEYS, *params]
    rows = pd.concat(tables, ignore_index=True).drop_duplicates([*keys, "pair"])
    ids = rows.groupby(keys, sort=False, dropna=False).ngroup()
    is_everywhere = rows.groupby(ids)["pair"].transform("nunique") == len(tables)
    if not is_everywhere.any():
        raise SweepError("no config was completed in all pairs of runs")
    return rows[is_everywhere], ids[is_everywhere]


def _means_of(rows: pd.DataFrame, ids: pd.Series[int]) -> pd.DataFrame:
    """Return a row a config: runs summed, accuracies averaged, speeds averaged on the log scale."""
    groups = rows.groupby(ids, sort=False)
    cells: dict[str, pd.Series[Any]] = {}
    for side in ("first", "second"):
        cells |= {f"{name}_{side}": groups[f"{name}_{side}"].sum() for name in ("runs", "clean")}
        cells[f"accuracy_{side}"] = groups[f"accuracy_{side}"].mean()
        logs = np.log(rows[f"speed_{side}"])
        cells[f"speed_{side}"] = np.exp(logs.groupby(ids, sort=False).mean())
    table = groups.head(1).drop(columns="pair").reset_index(drop=True)
    return table.assign(**{name: values.to_numpy() for name, values in cells.items()})


def _over_pairs(values: pd.Series[Any], keys: Any) -> pd.DataFrame:  # noqa: ANN401 - as pandas
    """Return the mean over pairs of each key, with its error."""
    of_key = values.groupby(keys, sort=False).agg(["mean", "var", "count"]).reset_index(drop=True)
    variance = of_key["var"] / of_key["count"]
    return pd.DataFrame({"log": of_key["mean"], "variance": variance, "df": of_key["count"] - 1.0})


def _figure(
    metric: str,
    values: pd.Series[Any],
    rows: pd.DataFrame,
    ids: pd.Series[int],
    limit: pd.Series[float] | float,
    own: pd.DataFrame | None = None,
) -> Figure:
    """Return the changes of a figure; common to all configs of a pair is their median."""
    stages = rows["stage"].groupby(ids, sort=False).first().reset_index(drop=True)
    changes = _over_pairs(values, ids).assign(stage=stages, limit=limit)
    common = values.groupby([rows["stage"], rows["pair"]], sort=False).median()
    if own is None:
        common = common.dropna()
    together = {}
    for stage, of_pairs in common.groupby(level="stage", sort=False):
        limits = changes.loc[stages == stage, "limit"]
        means = _over_pairs(of_pairs, of_pairs.index.get_level_values("stage"))
        tested = against(means, float(limits.median()))
        together[str(stage)] = tested.assign(num_configs=len(limits))
    return Figure(metric=metric, is_ratio=own is not None, rows=changes, own=own, together=together)
