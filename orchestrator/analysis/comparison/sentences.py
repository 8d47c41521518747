"""The verdict on two runs, and each change, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orchestrator.analysis.columns import configs_of
from orchestrator.analysis.comparison.changes import TOGETHER, Verdict, verdict_of
from orchestrator.analysis.rule import rule_of
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import is_share, told_apart
from orchestrator.storage.sweep_record import SweepRecord


def sentence_of(
    changes: pd.DataFrame, table: pd.DataFrame, sweep: SweepRecord, tolerance: float
) -> str:
    """Return the verdict with the figure that it rests on, without a full stop.

    Args:
        changes: From :func:`~orchestrator.analysis.comparison.changes.judged`.
        table: The configs that its rows are of.
        sweep: The sweep of the first run.
        tolerance: Share of the speed that a config may lose.
    """
    verdict, share = verdict_of(changes), f"{100 * tolerance:g} %"
    leading = _leading(changes, verdict)
    text = change_text(leading, labels_of(table, sweep), sweep)
    if verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        others = int((changes["verdict"] == verdict).sum()) - 1
        more = f", and {others} more" if others else ""
        return f"{verdict} in {leading['metric']}: {text}{more}"
    if verdict is Verdict.WITHIN:
        return f"no change beyond the tolerance of {share}: {text}"
    return f"not decided: no regression beyond {share} shown; {text}{_open(changes, leading)}"


def _open(changes: pd.DataFrame, leading: Mapping[Any, Any]) -> str:
    """Return what is not decided beside a leading change that is."""
    if leading["verdict"] == Verdict.NOT_DECIDED:
        return ""
    is_open, is_single = changes["verdict"] == Verdict.NOT_DECIDED, changes["row"] != TOGETHER
    parts = [
        f"{row['metric']} of all together ({row['stage']})"
        for row in changes[is_open & ~is_single].to_dict("records")
    ]
    if (is_open & is_single).any():
        count = int((is_open & is_single).sum())
        parts.append(f"{count} of {int(is_single.sum())} changes of single configs")
    return f"; open: {', '.join(parts)}"


def regressions(changes: pd.DataFrame, table: pd.DataFrame, sweep: SweepRecord) -> list[str]:
    """Return a sentence for each regression, those of all configs together first."""
    shown = _by_weight(changes[changes["verdict"] == Verdict.REGRESSION], "p_worse")
    labels = labels_of(table, sweep)
    return [
        f"{row['metric']}: {change_text(row, labels, sweep)}" for row in shown.to_dict("records")
    ]


def change_text(change: Mapping[Any, Any], labels: list[str], sweep: SweepRecord) -> str:
    """Return a change in words, with its interval and its tolerance.

    Args:
        change: A row of :func:`~orchestrator.analysis.comparison.changes.judged`.
        labels: Of the configs, in the order of the table.
        sweep: The sweep of the first run.
    """
    num_configs = int(change["num_configs"])
    subject, be = labels[change["row"]], "is"
    if change["row"] == TOGETHER:
        subject = "the one config" if num_configs == 1 else f"all {num_configs} configs together"
        be = "is" if num_configs == 1 else "are"
    subject = f"{subject} ({change['stage']})"
    return _ratio(change, subject, be, sweep) if change["is_ratio"] else _points(change, subject)


def _ratio(change: Mapping[Any, Any], subject: str, be: str, sweep: SweepRecord) -> str:
    fast = "fast" if rule_of(sweep).is_of_speed else "good"
    low, high = change["low"], change["high"]
    allowed = f"tolerance {100 * (1 - change['limit_low']):g} %"
    if is_narrow(low, high):
        ends = f"95 % interval {low:.3f} to {high:.3f}; {allowed}"
        return f"{subject} {be} {change['change']:.3f}x as {fast} as in the first run ({ends})"
    if change["verdict"] == Verdict.REGRESSION and not pd.isna(high):
        return f"{subject} {be} less than {high:.2f}x as {fast} as in the first run ({allowed})"
    if change["verdict"] == Verdict.IMPROVEMENT and not pd.isna(low):
        return f"{subject} {be} more than {low:.2f}x as {fast} as in the first run ({allowed})"
    return f"by how much the speed of {subject} changed is not known: {_why(low)}"


def _why(low: float) -> str:
    return "too few runs" if pd.isna(low) else "its runs differ too much"


def _points(change: Mapping[Any, Any], subject: str) -> str:
    metric, size = change["metric"], change["change"]
    scale, unit = (100, " points") if is_share(metric) else (1, "")
    allowed = f"tolerance {scale * change['limit_high']:.3g}{unit}"
    word = "worse" if size < 0 else "better"
    ends = sorted(abs(scale * change[end]) for end in ("low", "high"))
    if pd.isna(ends[0]):
        return f"{subject}: {metric} is {abs(scale * size):.3g}{unit} {word} ({allowed})"
    if change["low"] < 0 < change["high"]:
        signed = [scale * change[end] for end in ("low", "high")]
        interval = f"{signed[0]:+.3g} to {signed[1]:+.3g}"
    else:
        interval = f"{ends[0]:.3g} to {ends[1]:.3g}"
    return (
        f"{subject}: {metric} is {abs(scale * size):.3g}{unit} {word} than in the first run "
        f"(95 % interval {interval}; {allowed})"
    )


def labels_of(table: pd.DataFrame, sweep: SweepRecord) -> list[str]:
    """Return each config of a table by the knobs that are not the same in all of them."""
    return told_apart(configs_of(table, sweep), sweep)


def _leading(changes: pd.DataFrame, verdict: Verdict) -> dict[Any, Any]:
    """Return the change that a verdict is told by."""
    if verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        p_value = "p_worse" if verdict is Verdict.REGRESSION else "p_better"
        first = _by_weight(changes[changes["verdict"] == verdict], p_value)
    else:
        speeds = changes[changes["is_ratio"] & (changes["row"] == TOGETHER)]
        width = (speeds["high"] / speeds["low"]).rename("width")
        first = speeds.join(width).sort_values("width", kind="stable")
    return dict(first.iloc[0].to_dict())


def _by_weight(changes: pd.DataFrame, p_value: str) -> pd.DataFrame:
    """Return the changes of all configs together first, each part by its p value."""
    ordered = changes.assign(is_single=changes["row"] != TOGETHER)
    return ordered.sort_values(["is_single", p_value], kind="stable")
