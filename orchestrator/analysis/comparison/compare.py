"""Two runs of a sweep, config by config: what changed, and whether that is significant.

A speed depends on the day as well: the change that all configs have in common is estimated apart
from each one's own, see :mod:`orchestrator.analysis.statistics.common_change`. Each change is held
against a tolerance, see :mod:`orchestrator.analysis.comparison.changes`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.comparison.changes import (
    TOGETHER,
    TOLERANCE,
    Figure,
    Verdict,
    judged,
    verdict_of,
)
from orchestrator.analysis.comparison.environment import Difference, differences, require_known
from orchestrator.analysis.comparison.estimates import SIGNIFICANCE, holm, p_values_of
from orchestrator.analysis.comparison.figures import accuracy_figure, speed_figure, stages_of
from orchestrator.analysis.comparison.pairs import lost_configs, mismatches, paired_speeds, row_keys
from orchestrator.analysis.comparison.sentences import labels_of, sentence_of
from orchestrator.analysis.comparison.text import (
    SOURCE_DIFFERS,
    environments_differ,
    lost_text,
    rows_differ,
)
from orchestrator.analysis.statistics.common_change import CommonChange
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError
from orchestrator.storage.sweep_record import SweepRecord


@dataclass(frozen=True, kw_only=True, eq=False)
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
        changes: Each change held against the tolerance, see
            :func:`~orchestrator.analysis.comparison.changes.judged`; its ``row`` is a place in
            ``table``.
        metric: The speed that was compared.
        accuracy: The accuracy that was.
        tolerance: Share of the speed that a config may lose.
        sweep: The sweep of the first run.
        mismatches: Differences between rows of the same config and stage that are not compared,
            with the number of times that each occurs.
        notes: Other differences: no condition, yet a reason to be careful.
        num_pairs: Pairs of runs that it rests on, see
            :mod:`orchestrator.analysis.comparison.sessions`.
    """

    table: pd.DataFrame
    changes: pd.DataFrame
    metric: str
    accuracy: str
    tolerance: float
    sweep: SweepRecord
    mismatches: Mapping[Difference, int]
    notes: tuple[str, ...] = ()
    num_pairs: int = 1

    @property
    def verdict(self) -> Verdict:
        """The verdict on all changes together."""
        return verdict_of(self.changes)

    @property
    def sentence(self) -> str:
        """The verdict with the figure that it rests on, without a full stop."""
        return sentence_of(self.changes, self.table, self.sweep, self.tolerance)

    @property
    def common(self) -> tuple[CommonChange, ...]:
        """The change of speed that the configs of a stage have in common, for each stage."""
        rows = self.changes
        of_all = rows[(rows["row"] == TOGETHER) & (rows["metric"] == self.metric)]
        return tuple(
            CommonChange(
                stage=row["stage"],
                ratio=row["change"],
                low=row["low"],
                high=row["high"],
                num_configs=int(row["num_configs"]),
                num_pairs=self.num_pairs,
            )
            for row in of_all.to_dict("records")
        )


def compare(
    first: RunTables,
    second: RunTables,
    *,
    across: Collection[str] = (),
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Compare the completed runs of each config, stage by stage.

    ``different`` is True only where a config changed beyond what the others of its stage did,
    at 5 % over all the rows together: a t test on the logarithms with the spread between runs
    pooled over the configs of a stage, p values corrected by Holm's method. False does not mean
    that they are equal: with few runs a large difference can go unseen, and with no repeats, or
    with no other config, there is nothing to test by.

    Args:
        first: The run that ratios are counted from.
        second: The other run.
        across: Keys that may differ, of the environment or of the rows: what is being
            compared.
        tolerance: Share of the speed that a config may lose before that is a regression.

    Raises:
        SweepError: The machines, versions or data differ, or no config is in both; the
            message names each key and both values. Or the tolerance is no share, or a key
            in ``across`` is unknown.
    """
    check_tolerance(tolerance)
    keys = row_keys(first, second)
    require_known(across, (first.sweep, second.sweep), keys)
    apart = differences(first.sweep, second.sweep, across=across)
    if apart:
        raise environments_differ(apart)
    pairs = paired_speeds(first, second, keys)
    counts, alike = mismatches(pairs, [key for key in keys if key not in across])
    if not alike.any():
        raise rows_differ(list(counts))
    compared = pairs[alike].reset_index(drop=True)
    rule = first.rule
    speed = speed_figure(compared, rule, tolerance)
    figures = [speed]
    if rule.accuracy.metric != rule.speed.metric:
        figures.append(accuracy_figure(compared, rule, first.sweep))
    table, changes = ordered(_table(compared, speed, keys), judged(figures, stages_of(compared)))
    return Comparison(
        table=table,
        changes=changes,
        metric=rule.speed.metric,
        accuracy=rule.accuracy.metric,
        tolerance=tolerance,
        sweep=first.sweep,
        mismatches=counts,
        notes=_notes(first, second),
    )


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no share of a speed.

    Raises:
        SweepError: It is not at least 0 and less than 1.
    """
    if not 0 <= tolerance < 1:
        raise SweepError(
            f"tolerance: {tolerance:g} is not allowed",
            "it is the share of the speed that may be lost: 0.03 for 3 %, at least 0 and below 1",
        )


def _notes(first: RunTables, second: RunTables) -> tuple[str, ...]:
    hashes = {first.sweep.source_hash, second.sweep.source_hash}
    differs = (SOURCE_DIFFERS,) if len(hashes) > 1 and "" not in hashes else ()
    lost = lost_configs(first, second)
    return (*differs, lost_text(labels_of(lost, first.sweep))) if len(lost) else differs


def _table(pairs: pd.DataFrame, speed: Figure, row_keys: Sequence[str]) -> pd.DataFrame:
    """Return the table of a comparison, in the order of the pairs."""
    low, high = speed.rows.interval()
    keys = {key: _both(pairs[f"{key}_first"], pairs[f"{key}_second"]) for key in row_keys}
    same = [c for c in pairs.columns if c.startswith(("params.", "runs_", "accuracy_"))]
    ratios = pairs[["stage", *same]].assign(
        **keys,
        speed_first=np.exp(pairs["log_first"]),
        speed_second=np.exp(pairs["log_second"]),
        ratio=np.exp(speed.rows.logs),
        low=low,
        high=high,
    )
    return with_own(ratios, speed)


def with_own(table: pd.DataFrame, speed: Figure) -> pd.DataFrame:
    """Add each config's own change, its corrected ``p_value``, and whether it is ``different``."""
    own = speed.own
    assert own is not None
    low, high = own.interval()
    p_values = holm(p_values_of(own))
    return table.assign(
        own=np.exp(own.logs),
        own_low=low,
        own_high=high,
        p_value=p_values,
        different=p_values < SIGNIFICANCE,
    )


def ordered(table: pd.DataFrame, changes: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put the smallest p value of the table first; the changes go on naming its rows."""
    by_p = table.reset_index(drop=True).sort_values("p_value", kind="stable")
    places = {row: place for place, row in enumerate(by_p.index)} | {TOGETHER: TOGETHER}
    return by_p.reset_index(drop=True), changes.assign(row=changes["row"].map(places))


def _both(first: pd.Series[Any], second: pd.Series[Any]) -> pd.Series[Any]:
    """Return a condition's value, or both where it may differ."""
    texts = first.astype("str"), second.astype("str")
    alike = texts[0] == texts[1]
    return first if alike.all() else texts[0].where(alike, texts[0] + " and " + texts[1])
