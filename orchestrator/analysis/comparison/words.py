"""Each change from one run to another in words, and the one that a sentence names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import configs_of
from orchestrator.analysis.comparison.changes import TOGETHER, Verdict
from orchestrator.analysis.rule import rule_of
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import format_config, is_share, short
from orchestrator.storage.sweep_record import SweepRecord

HOST: Final = (
    "; that is the host on the day as much as what was changed between the runs: the command judge "
    "tells them apart"
)


def change_text(change: Mapping[Any, Any], labels: Sequence[str], sweep: SweepRecord) -> str:
    """Return a row of ``judged`` in words; ``labels`` name the table's configs."""
    num_configs = int(change["num_configs"])
    is_all = change["row"] == TOGETHER and num_configs > 1
    if is_all:
        subject = f"all {num_configs} configs together"
    else:
        subject = "the one config" if change["row"] == TOGETHER else labels[change["row"]]
    subject = f"{subject} ({change['stage']})"
    if not change["is_ratio"]:
        return _points(change, subject)
    return _ratio(change, subject, "are" if is_all else "is", sweep)


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
