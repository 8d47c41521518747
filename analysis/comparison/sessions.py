"""Two versions of a sweep over several sessions of each: pairs of runs, compared together.

The host on the day differs within each pair, but over several pairs it favours either version as
often. So the pairs are the draws here: each has one ratio of a config, one that all configs have in
common, and one of the config over that. Their means are geometric, and their intervals Student's t
over pairs, which hold for other days as well. The two runs of a pair are best run one after the
other, with the order changed from pair to pair.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.columns import params_of
from analysis.comparison.compare import Comparison, by_significance, compare
from analysis.comparison.environment import differences
from analysis.comparison.estimates import two_sided
from analysis.comparison.text import pairs_differ
from analysis.statistics.common_change import CommonChange
from analysis.statistics.intervals import log_interval, t_quantile
from analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError

_SUMMED: Final = ("runs_first", "runs_second")
_AVERAGED: Final = ("accuracy_first", "accuracy_second")
_RATIOS: Final = ("ratio", "own", "speed_first", "speed_second")


def compare_sessions(
    pairs: Sequence[tuple[RunTables, RunTables]], *, across: Collection[str] = ()
) -> Comparison:
    """Compare the first runs of all pairs with the second ones.

    One pair is compared as :func:`~analysis.comparison.compare.compare` does. Of several the table
    has the configs that are in all of them.

    Raises:
        SweepError: A pair cannot be compared, the pairs are not alike, or they have no config in
            common.
    """
    comparisons = [compare(first, second, across=across) for first, second in pairs]
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
    table = _table([comparison.table for comparison in comparisons])
    return Comparison(
        table=table,
        metric=comparisons[0].metric,
        common=tuple(_common(comparisons, stage) for stage in table["stage"].unique()),
        mismatches={key: n for each in comparisons for key, n in each.mismatches.items()},
        notes=tuple(dict.fromkeys(note for each in comparisons for note in each.notes)),
        num_pairs=len(comparisons),
    )


def _table(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return one row a config and stage that is in all tables, over the pairs."""
    keys = ["stage", *(c for c in params_of(tables[0]) if all(c in t.columns for t in tables))]
    parts = [table.assign(pair=number, own=_own(table)) for number, table in enumerate(tables)]
    rows = pd.concat(parts, ignore_index=True)
    ids = rows.groupby(keys, sort=False, dropna=False).ngroup()
    is_everywhere = rows.groupby(ids)["pair"].transform("nunique") == len(tables)
    if not is_everywhere.any():
        raise SweepError("no config was completed in all pairs of runs")
    rows, ids = rows[is_everywhere], ids[is_everywhere]
    groups = rows.groupby(ids, sort=False)
    firsts = rows.drop(columns="pair").groupby(ids, sort=False).head(1).set_index(ids.unique())
    logs = {name: np.log(rows[name]).groupby(ids, sort=False) for name in _RATIOS}
    means = {name: np.exp(log.mean()) for name, log in logs.items()}
    return by_significance(
        firsts.assign(
            **{name: groups[name].sum() for name in _SUMMED},
            **{name: groups[name].mean() for name in _AVERAGED},
            **means,
            **dict(zip(("low", "high"), _ends(logs["ratio"]), strict=True)),
            **dict(zip(("own_low", "own_high"), _ends(logs["own"]), strict=True)),
            p_value=_p_values(logs["own"]),
        )
    )


def _own(table: pd.DataFrame) -> pd.Series[Any]:
    """Return each row's ratio over the median of the others' of its stage; NaN for none."""
    return table.groupby("stage", sort=False)["ratio"].transform(_over_others)


def _over_others(ratios: pd.Series[Any]) -> pd.Series[Any]:
    if len(ratios) < 2:
        return ratios * np.nan
    return ratios / [np.median(np.delete(ratios, index)) for index in range(len(ratios))]


def _ends(logs: Any) -> tuple[pd.Series[Any], pd.Series[Any]]:  # noqa: ANN401 - pandas' groups
    """Return the ends of the 95 % intervals of geometric means, by group."""
    count = logs.count().to_numpy(dtype=np.float64)
    half = t_quantile(count - 1) * logs.std() / np.sqrt(count)
    return np.exp(logs.mean() - half), np.exp(logs.mean() + half)


def _p_values(logs: Any) -> pd.Series[Any]:  # noqa: ANN401 - pandas' groups
    """Return the two-sided p values of a mean of 0, by group."""
    mean, count = logs.mean(), logs.count().to_numpy(dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean / (logs.std() / np.sqrt(count))).to_numpy(dtype=np.float64)
    return pd.Series(two_sided(t, count - 1), index=mean.index)


def _common(comparisons: Sequence[Comparison], stage: str) -> CommonChange:
    of_stage = [change for each in comparisons for change in each.common if change.stage == stage]
    ratio = log_interval([change.ratio for change in of_stage])
    return CommonChange(
        stage=stage,
        ratio=ratio.centre,
        low=ratio.low,
        high=ratio.high,
        num_configs=min(change.num_configs for change in of_stage),
        num_pairs=len(of_stage),
    )
