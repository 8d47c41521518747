"""Two runs of a sweep, config by config: what changed, and whether that is significant.

A speed depends on the day as well: the change that all configs have in common is estimated apart
from each one's own, see :mod:`analysis.statistics.common_change`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparison.environment import Difference, differences
from analysis.comparison.estimates import SIGNIFICANCE, Sample, holm, log_ratios, own_tests
from analysis.comparison.pairs import mismatches, paired_speeds, row_keys
from analysis.comparison.text import SOURCE_DIFFERS, environments_differ, rows_differ
from analysis.statistics.common_change import (
    CommonChange,
    Estimates,
    median_interval,
    median_of,
)
from analysis.tables.run_tables import RunTables


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The result of :func:`compare`.

    Attributes:
        table: One row a config and stage that both runs completed under the same conditions:
            ``params.*``, ``stage, device, cores, isolation, runs_first, runs_second, speed_first,
            speed_second`` (geometric means), ``ratio`` (how many times as fast the second
            is) with the 95 % interval ``low, high`` over its repeats (of these two
            sessions, not of other days), ``own`` (the ratio over the median of the stage's
            other configs) with ``own_low, own_high``, its ``p_value`` after Holm's
            correction, ``different``, ``accuracy_first, accuracy_second``.
        metric: The speed that was compared.
        common: The change that the configs of a stage have in common, for each stage of the table.
        mismatches: Differences between rows of the same config and stage that are not compared,
            with the number of times that each occurs.
        notes: Other differences: no condition, yet a reason to be careful.
        num_pairs: Pairs of runs that it rests on, see :mod:`analysis.comparison.sessions`.
    """

    table: pd.DataFrame
    metric: str
    common: tuple[CommonChange, ...]
    mismatches: Mapping[Difference, int]
    notes: tuple[str, ...] = ()
    num_pairs: int = 1


def compare(first: RunTables, second: RunTables, *, across: Collection[str] = ()) -> Comparison:
    """Compare the completed runs of each config, stage by stage.

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
        raise environments_differ(apart)
    keys = row_keys(first, second)
    pairs = paired_speeds(first, second, keys)
    counts, alike = mismatches(pairs, [key for key in keys if key not in across])
    if not alike.any():
        raise rows_differ(list(counts))
    compared = pairs[alike].reset_index(drop=True)
    sign = first.rule.speed.sign
    return Comparison(
        table=_table(compared, sign, keys),
        metric=first.rule.speed.metric,
        common=tuple(_common(compared, sign)),
        mismatches=counts,
        notes=_notes(first, second),
    )


def _notes(first: RunTables, second: RunTables) -> tuple[str, ...]:
    hashes = {first.sweep.source_hash, second.sweep.source_hash}
    return (SOURCE_DIFFERS,) if len(hashes) > 1 and "" not in hashes else ()


def _estimates(pairs: pd.DataFrame, sign: float) -> Estimates:
    """Return the log ratios of the rows; positive where the second run is the faster one."""
    first, second = (
        Sample(
            means=pairs[f"log_{side}"].to_numpy(dtype=np.float64),
            variances=pairs[f"variance_{side}"].to_numpy(dtype=np.float64),
            num_runs=pairs[f"runs_{side}"].to_numpy(dtype=np.float64),
        )
        for side in ("first", "second")
    )
    estimates = log_ratios(first, second)
    return replace(estimates, logs=sign * estimates.logs)


def _common(pairs: pd.DataFrame, sign: float) -> Iterator[CommonChange]:
    for stage, of_stage in pairs.groupby("stage", sort=False):
        yield common_change(str(stage), _estimates(of_stage, sign))


def common_change(stage: str, estimates: Estimates) -> CommonChange:
    """Return the change that the configs of a stage have in common.

    Where the error of any config is known, those alone count.
    """
    known = estimates.known if len(estimates.known) else estimates
    middle = median_of(known)
    ends = [float(end[0]) for end in middle.interval()]
    low, high = ends if len(estimates.known) else median_interval(estimates.logs)
    return CommonChange(
        stage=stage,
        ratio=float(np.exp(middle.logs[0])),
        low=low,
        high=high,
        num_configs=len(known),
    )


def _table(pairs: pd.DataFrame, sign: float, row_keys: Sequence[str]) -> pd.DataFrame:
    """Return the table of a comparison, the smallest p value first."""
    estimates = _estimates(pairs, sign)
    low, high = estimates.interval()
    keys = {key: _both(pairs[f"{key}_first"], pairs[f"{key}_second"]) for key in row_keys}
    same = [c for c in pairs.columns if c.startswith(("params.", "runs_", "accuracy_"))]
    ratios = pairs[["stage", *same]].assign(
        **keys,
        speed_first=np.exp(pairs["log_first"]),
        speed_second=np.exp(pairs["log_second"]),
        ratio=np.exp(estimates.logs),
        low=low,
        high=high,
    )
    return by_significance(ratios.join(_own(pairs, sign)))


def _own(pairs: pd.DataFrame, sign: float) -> pd.DataFrame:
    """Return ``own, own_low, own_high`` and ``p_value``, before the correction."""
    parts = []
    for _, of_stage in pairs.groupby("stage", sort=False):
        own, p_values = own_tests(_estimates(of_stage, sign))
        low, high = own.interval()
        cells = {"own": np.exp(own.logs), "own_low": low, "own_high": high, "p_value": p_values}
        parts.append(pd.DataFrame(cells, index=of_stage.index))
    return pd.concat(parts).sort_index()


def by_significance(table: pd.DataFrame) -> pd.DataFrame:
    """Correct the column ``p_value``, add ``different``, and put the smallest first."""
    p_values = holm(table["p_value"].to_numpy(dtype=np.float64))
    table = table.assign(p_value=p_values, different=p_values < SIGNIFICANCE)
    return table.sort_values("p_value", kind="stable", ignore_index=True)


def _both(first: pd.Series[Any], second: pd.Series[Any]) -> pd.Series[Any]:
    """Return a condition's value, or both where it may differ."""
    texts = first.astype("str"), second.astype("str")
    alike = texts[0] == texts[1]
    return first if alike.all() else texts[0].where(alike, texts[0] + " and " + texts[1])
