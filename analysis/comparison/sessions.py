"""Two versions of a sweep over several sessions of each: pairs of runs, compared together.

What the host is on a day is in both runs of no pair alike, but over several pairs it is as often
for the one as for the other. So the pairs are the draws here: each has one ratio of a config, one
of what all configs have in common, and one of the config over that. Their means are geometric,
and their intervals Student's t over pairs, which hold other days as well. The two runs of a pair
are best run one after the other, now the one first and now the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.columns import params_of
from analysis.comparison.compare import SIGNIFICANCE, Comparison, Run, compare, holm, two_sided
from analysis.comparison.environment import differences
from analysis.statistics.common_change import CommonChange
from analysis.statistics.intervals import Interval, log_interval
from orchestrator.errors import SweepError

_SUMMED: Final = ("runs_first", "runs_second")
_AVERAGED: Final = ("accuracy_first", "accuracy_second")
_SPEEDS: Final = ("speed_first", "speed_second")


def compare_sessions(
    pairs: Sequence[tuple[Run, Run]], *, across: Collection[str] = ()
) -> Comparison:
    """Compares the first runs of all pairs with the second ones.

    One pair is compared as :func:`~analysis.comparison.compare.compare` does. Of several the table
    has the configs that are in all of them.

    Raises:
        SweepError: A pair cannot be compared, the pairs are not alike, or they have no config in
            common.
    """
    found = [compare(first, second, across=across) for first, second in pairs]
    if len(found) == 1:
        return found[0]
    (reference, _), *_ = pairs
    for first, _ in pairs[1:]:
        if apart := differences(reference.sweep, first.sweep, across=across):
            raise SweepError(
                "the pairs cannot be taken together; their first runs differ in\n"
                + "\n".join(f"  {difference}" for difference in apart),
                "a pair more is the same two versions, on the same machine",
            )
    table = _together([comparison.table for comparison in found])
    return Comparison(
        table=table,
        metric=found[0].metric,
        common=tuple(_common(found, stage) for stage in table["stage"].unique()),
        kept_apart={key: n for comparison in found for key, n in comparison.kept_apart.items()},
        notes=tuple(dict.fromkeys(note for comparison in found for note in comparison.notes)),
        num_pairs=len(found),
    )


def _together(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One row a config and stage that is in all tables, over the pairs."""
    keys = ["stage", *(c for c in params_of(tables[0]) if all(c in t.columns for t in tables))]
    parts = [table.assign(pair=number, own=_own(table)) for number, table in enumerate(tables)]
    every = pd.concat(parts, ignore_index=True)
    groups = every.groupby(keys, sort=False, dropna=False)
    rows = [_row(part) for _, part in groups if part["pair"].nunique() == len(tables)]
    if not rows:
        raise SweepError("no config was completed alike in all pairs of runs")
    table = pd.DataFrame(rows)
    p_values = holm(table["p_value"].to_numpy(dtype=np.float64))
    table = table.assign(p_value=p_values, different=p_values < SIGNIFICANCE)
    return table.sort_values("p_value", kind="stable", ignore_index=True)


def _own(table: pd.DataFrame) -> pd.Series[Any]:
    """Each row's ratio over the median of the others' of its stage; NaN where there is none."""
    own = pd.Series(np.nan, index=table.index)
    for _, ratios in table.groupby("stage", sort=False)["ratio"]:
        for index in ratios.index:
            own[index] = ratios[index] / ratios.drop(index).median()
    return own


def _row(part: pd.DataFrame) -> dict[str, Any]:
    ratio, own = _over_pairs(part["ratio"]), _over_pairs(part["own"])
    told = {
        **{name: part[name].sum() for name in _SUMMED},
        **{name: part[name].mean() for name in _AVERAGED},
        **{name: float(np.exp(np.log(part[name]).mean())) for name in _SPEEDS},
        **{"ratio": ratio.centre, "low": ratio.low, "high": ratio.high},
        **{"own": own.centre, "own_low": own.low, "own_high": own.high},
        "p_value": _p_value(part["own"]),
    }
    first = part.drop(columns="pair").iloc[0]
    return {**{str(name): cell for name, cell in first.items()}, **told}


def _over_pairs(ratios: pd.Series[Any]) -> Interval:
    return log_interval(ratios.to_numpy(dtype=np.float64))


def _p_value(ratios: pd.Series[Any]) -> float:
    logs = np.log(ratios.to_numpy(dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = logs.mean() / (logs.std(ddof=1) / np.sqrt(len(logs)))
    return float(two_sided(np.array([t]), np.array([len(logs) - 1.0]))[0])


def _common(found: Sequence[Comparison], stage: str) -> CommonChange:
    of_stage = [one for comparison in found for one in comparison.common if one.stage == stage]
    ratio = log_interval([one.ratio for one in of_stage])
    return CommonChange(
        stage=stage,
        ratio=ratio.centre,
        low=ratio.low,
        high=ratio.high,
        num_configs=min(one.num_configs for one in of_stage),
        num_pairs=len(of_stage),
    )
