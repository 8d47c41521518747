"""Two runs of a sweep, config by config: what changed, and whether that is significant."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import configs_of
from orchestrator.analysis.comparison import changes, pairs
from orchestrator.analysis.comparison.changes import TOGETHER, Verdict
from orchestrator.analysis.rule import rule_of
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.statistics.pooling import load_text
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import format_config, is_share, short
from orchestrator.errors import SweepError
from orchestrator.formats import counted
from orchestrator.rules import TOLERANCE
from orchestrator.storage.sweep_record import SweepRecord

_MOST_NAMED: Final = 3
_SOURCE_DIFFERS: Final = "the trainable's source differs between the runs: so may what a step does"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """The result of :func:`compare`.

    Attributes:
        table: One row a config and stage that both runs completed under the same conditions:
            ``params.*``, ``stage, device, cores, isolation, runs_first, runs_second, clean_first,
            clean_second, speed_first, speed_second`` (geometric means), ``ratio`` (how many times
            as fast the second is; NaN where a side has no clean run) with the 95 % interval
            ``low, high`` over its repeats (of these two sessions, not of other days), ``own``
            (the ratio over the median of the stage's other configs) with ``own_low,
            own_high``, ``accuracy_first, accuracy_second``.
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

    def __repr__(self) -> str:
        return f"<Comparison: {self.sentence}>"

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

    def _text(self, change: Mapping[Any, Any]) -> str:
        """Return a row of ``changes`` in words."""
        num_configs = int(change["num_configs"])
        is_all = change["row"] == TOGETHER and num_configs > 1
        if is_all:
            subject = f"all {num_configs} configs together"
        else:
            subject = "the one config" if change["row"] == TOGETHER else self.labels[change["row"]]
        subject = f"{subject} ({change['stage']})"
        if not change["is_ratio"]:
            return _points(change, subject)
        return _ratio(change, subject, "are" if is_all else "is", self.sweep)

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
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Compare the completed runs of each config, stage by stage.

    A change is shown only where a config changed beyond what the others of its stage did, at 5 %
    over all changes together; see :mod:`orchestrator.analysis.comparison.changes`. What is not
    shown may still differ: with few runs a large difference can go unseen.

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
    return Comparison(
        table=_table(compared, figures[0], keys),
        changes=changes.judged(figures),
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
    """Return the table of a comparison, in the order of the pairs."""
    keys = {}
    for key in row_keys:  # both values of a condition that may differ
        first, second = (rows[f"{key}_{side}"].astype("str") for side in ("first", "second"))
        is_same = first == second
        both = first.where(is_same, first + " and " + second)
        keys[key] = rows[f"{key}_first"] if is_same.all() else both
    same = [c for c in rows.columns if c.startswith(("params.", "runs_", "clean_", "accuracy_"))]
    speeds = {f"speed_{side}": np.exp(rows[f"log_{side}"]) for side in ("first", "second")}
    ends = ["change", "low", "high"]
    logs = pd.concat([changes.against(speed.rows, 0.0)[ends], speed.own[ends]], axis="columns")
    logs = logs.set_axis(["ratio", "low", "high", "own", "own_low", "own_high"], axis="columns")
    return rows[["stage", *same]].assign(**keys, **speeds).join(logs.apply(np.exp))


# -- changes in words

HOST: Final = (
    "; that is the host on the day as much as what was changed between the runs: the command judge "
    "distinguishes them"
)


def _ratio(change: Mapping[Any, Any], subject: str, be: str, sweep: SweepRecord) -> str:
    fast, *_ = rule_of(sweep).fast
    low, high = change["low"], change["high"]
    allowed = f"tolerance {100 * (1 - change['limit_low']):g} %"
    if is_narrow(low, high):
        ends = f"95 % interval {low:.3f} to {high:.3f}; {allowed}"
        return f"{subject} {be} {change['change']:.3f}x as {fast} as in the first run ({ends})"
    if change["verdict"] == Verdict.REGRESSION and not pd.isna(high):
        return f"{subject} {be} less than {high:.2f}x as {fast} as in the first run ({allowed})"
    if change["verdict"] == Verdict.IMPROVEMENT and not pd.isna(low):
        return f"{subject} {be} more than {low:.2f}x as {fast} as in the first run ({allowed})"
    why = "too few runs" if pd.isna(low) else "its runs differ too much"
    why = "other load disturbed its runs" if pd.isna(change["change"]) else why
    return f"by how much the speed of {subject} changed is not known: {why}"


def _points(change: Mapping[Any, Any], subject: str) -> str:
    metric, size = change["metric"], change["change"]
    scale, unit = (100, " points") if is_share(metric) else (1, "")
    word = "worse" if size < 0 else "better"
    allowed = f"tolerance {scale * change['limit_high']:.3g}{unit}"
    if not pd.isna(change["low"]):
        low, high = (scale * change[end] for end in ("low", "high"))
        allowed = f"95 % interval {low:+.3g} to {high:+.3g}; {allowed}"
    text = f"{metric} is {abs(scale * size):.3g}{unit} {word} than in the first run"
    return f"{subject}: {text} ({allowed})"


def labels_of(table: pd.DataFrame, sweep: SweepRecord) -> list[str]:
    """Return each config of a table by the knobs that are not the same in all of them."""
    configs = configs_of(table, sweep)
    names = [
        name
        for name in sweep.knobs
        if len({short(config[name]) for config in configs if name in config}) > 1
    ]
    return [
        " ".join(f"{name}={short(config[name])}" for name in names) or format_config(config, sweep)
        for config in configs
    ]


def leading(changes: pd.DataFrame, verdict: Verdict) -> dict[Any, Any]:
    """Return the change that a sentence names."""
    if verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        p_value = "p_worse" if verdict is Verdict.REGRESSION else "p_better"
        first = by_weight(changes[changes["verdict"] == verdict], p_value)
    else:
        speeds = changes[changes["is_ratio"] & (changes["row"] == TOGETHER)]
        width = (speeds["high"] / speeds["low"]).rename("width")
        first = speeds.join(width).sort_values("width", kind="stable")
    return dict(first.iloc[0].to_dict())


def by_weight(changes: pd.DataFrame, p_value: str) -> pd.DataFrame:
    """Return the changes of all configs together first, each part by its p value."""
    ordered = changes.assign(is_single=changes["row"] != TOGETHER)
    return ordered.sort_values(["is_single", p_value], kind="stable")
