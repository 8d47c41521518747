"""Two runs of a sweep, config by config: what changed, and whether that is significant."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.comparison import changes, pairs
from orchestrator.analysis.comparison.changes import Verdict
from orchestrator.analysis.comparison.words import HOST, by_weight, change_text, labels_of, leading
from orchestrator.analysis.statistics.matched_pairs import holm
from orchestrator.analysis.statistics.pooling import load_text
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError
from orchestrator.formats import counted
from orchestrator.storage.sweep_record import SweepRecord

_MOST_NAMED: Final = 3
_SOURCE_DIFFERS: Final = "the trainable's source differs between the runs: so may what a step does"


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The result of :func:`compare`.

    Attributes:
        table: One row a config and stage that both runs completed under the same conditions:
            ``params.*``, ``stage, device, cores, isolation, runs_first, runs_second, clean_first,
            clean_second, speed_first, speed_second`` (geometric means), ``ratio`` (how many times
            as fast the second is; NaN where a side has no clean run) with the 95 % interval
            ``low, high`` over its repeats (of these two sessions, not of other days), ``own``
            (the ratio over the median of the stage's other configs) with ``own_low,
            own_high``, its ``p_value`` after Holm's correction, ``different``,
            ``accuracy_first, accuracy_second``.
        changes: Each change against the tolerance, see
            :func:`~orchestrator.analysis.comparison.changes.judged`; its ``row`` is a place in
            ``table``.
        metric: The speed that was compared.
        accuracy: The accuracy that was.
        tolerance: Share of the speed that a config may lose.
        sweep: The sweep of the first run.
        mismatches: Differences between rows of the same config and stage that are not compared,
            with the number of times that each occurs.
        notes: Other differences: no condition, yet a reason to be careful.
    """

    table: pd.DataFrame
    changes: pd.DataFrame
    metric: str
    accuracy: str
    tolerance: float
    sweep: SweepRecord
    mismatches: Mapping[pairs.Difference, int]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict on all changes together."""
        return changes.verdict_of(self.changes)

    @property
    def sentence(self) -> str:
        """The verdict with the figure that it rests on, without a full stop."""
        verdict, rows = self.verdict, self.changes
        first, share = leading(rows, verdict), f"{100 * self.tolerance:g} %"
        text, num_alike = self._text(first), int((rows["verdict"] == verdict).sum())
        if verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
            more = f", and {num_alike - 1} more" if num_alike > 1 else ""
            return f"{verdict} in {first['metric']}: {text}{more}"
        if verdict is Verdict.WITHIN:
            return f"no change beyond the tolerance of {share}: {text}"
        if pd.isna(first["change"]):
            runs, clean = (
                int(self.table[[f"{what}_first", f"{what}_second"]].to_numpy().sum())
                for what in ("runs", "clean")
            )
            return f"{verdict}: other load disturbed {runs - clean} of {counted(runs, 'run')}"
        is_open = first["verdict"] == verdict
        rest = "" if is_open else f"; open: {num_alike} of {len(rows)} changes"
        return f"{verdict}: no regression beyond {share} shown; {text}{rest}"

    @property
    def regressions(self) -> list[str]:
        """A sentence for each regression, those of all configs together first."""
        shown = by_weight(self.changes[self.changes["verdict"] == Verdict.REGRESSION], "p_worse")
        return [f"{row['metric']}: {self._text(row)}" for row in shown.to_dict("records")]

    @cached_property
    def labels(self) -> list[str]:
        """Each config of ``table`` by the knobs that are not the same in all of them."""
        return labels_of(self.table, self.sweep)

    def _text(self, row: Mapping[Any, Any]) -> str:
        return change_text(row, self.labels, self.sweep)

    @property
    def common(self) -> pd.DataFrame:
        """The rows of ``changes`` of the speed that all configs of a stage have in common."""
        rows = self.changes
        return rows[(rows["row"] == changes.TOGETHER) & (rows["metric"] == self.metric)]

    @property
    def common_texts(self) -> list[str]:
        """The common change of each stage in a sentence."""
        return [
            self._text(row) + ("" if row["low"] <= 1 <= row["high"] else HOST)
            for row in self.common.dropna(subset=["low"]).to_dict("records")
        ]


def compare(
    first: RunTables,
    second: RunTables,
    *,
    across: Collection[str] = (),
    tolerance: float = changes.TOLERANCE,
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
            message names each key and both values. Or the tolerance is no share.
    """
    if not 0 <= tolerance < 1:
        raise SweepError(
            f"tolerance: {tolerance:g} is not allowed",
            "it is the share of the speed that may be lost: 0.03 for 3 %, at least 0 and below 1",
        )
    keys, rule = pairs.row_keys(first, second), first.rule
    pairs.require_alike(first.sweep, second.sweep, across)
    both = pairs.paired_speeds(first, second, keys)
    counts, alike = pairs.mismatches(both, [key for key in keys if key not in across])
    if not alike.any():
        raise pairs.refusal("no config ran under the same conditions in both runs:", list(counts))
    compared = both[alike].reset_index(drop=True)
    speed = rule.speed
    of_speed = changes.changes_of(compared, ("log", "variance", "clean"), sign=speed.sign)
    of_speed = of_speed.assign(limit=-math.log1p(-tolerance))
    figures = [changes.Figure(metric=speed.metric, is_ratio=True, rows=of_speed)]
    objective = replace(rule.accuracy, bound=None)
    accuracy = first.sweep.rigor.with_tolerance(objective, first.sweep.rule)
    if accuracy.metric != speed.metric:
        levels = compared["accuracy_first"].astype("float64").abs() if accuracy.relative else 1.0
        rows = changes.changes_of(compared, ("accuracy", "spread", "trained"), sign=accuracy.sign)
        rows = rows.assign(limit=(accuracy.tolerance or 0.0) * levels)
        figures.append(changes.Figure(metric=accuracy.metric, is_ratio=False, rows=rows))
    table, tested = ordered(_table(compared, figures[0], keys), changes.judged(figures))
    return Comparison(
        table=table,
        changes=tested,
        metric=speed.metric,
        accuracy=accuracy.metric,
        tolerance=tolerance,
        sweep=first.sweep,
        mismatches=counts,
        notes=_notes(first, second),
    )


def _notes(first: RunTables, second: RunTables) -> tuple[str, ...]:
    loads = [(side, *load_text(run.trials)) for side, run in (("first", first), ("second", second))]
    notes = [f"other load, {side} run: {text}" for side, num, _, text in loads if num]
    hashes = {first.sweep.source_hash, second.sweep.source_hash}
    if len(hashes) > 1 and "" not in hashes:
        notes.append(_SOURCE_DIFFERS)
    if labels := labels_of(pairs.lost_configs(first, second), first.sweep):
        text = f"{counted(len(labels), 'config')} completed in the first run and failed in the "
        more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
        notes.append(f"{text}second: {'; '.join(labels[:_MOST_NAMED])}{more}")
    return tuple(notes)


def _table(rows: pd.DataFrame, speed: changes.Figure, row_keys: Sequence[str]) -> pd.DataFrame:
    """Return the table of a comparison, in the order of the pairs.

    With each ratio, each config's own with its ``p_value``, and whether it is ``different``.
    """
    keys = {}
    for key in row_keys:  # both values of a condition that may differ
        first, second = (rows[f"{key}_{side}"].astype("str") for side in ("first", "second"))
        is_same = first == second
        both = first.where(is_same, first + " and " + second)
        keys[key] = rows[f"{key}_first"] if is_same.all() else both
    same = [c for c in rows.columns if c.startswith(("params.", "runs_", "clean_", "accuracy_"))]
    speeds = {f"speed_{side}": np.exp(rows[f"log_{side}"]) for side in ("first", "second")}
    p_values = holm(2 * speed.own[["p_worse", "p_better"]].min(axis="columns").to_numpy())
    ends = ["change", "low", "high"]
    logs = pd.concat([changes.against(speed.rows, 0.0)[ends], speed.own[ends]], axis="columns")
    logs = logs.set_axis(["ratio", "low", "high", "own", "own_low", "own_high"], axis="columns")
    cells = logs.apply(np.exp).assign(p_value=p_values, different=p_values < changes.SIGNIFICANCE)
    return rows[["stage", *same]].assign(**keys, **speeds).join(cells)


def ordered(table: pd.DataFrame, tested: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Put the smallest p value of the table first; the changes keep naming its rows."""
    by_p = table.reset_index(drop=True).sort_values("p_value", kind="stable")
    places = dict(zip(by_p.index, range(len(by_p)), strict=True))
    places[changes.TOGETHER] = changes.TOGETHER
    return by_p.reset_index(drop=True), tested.assign(row=tested["row"].map(places))
