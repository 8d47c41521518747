"""The verdict on two runs, and each change, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import configs_of
from orchestrator.analysis.comparison.changes import TOGETHER, Verdict, verdict_of
from orchestrator.analysis.rule import rule_of
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import format_config, is_share, short
from orchestrator.formats import counted
from orchestrator.storage.sweep_record import SweepRecord

HOST: Final = (
    "; that is the host on the day as much as what was changed between the runs: the command judge "
    "tells them apart"
)


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
    if pd.isna(leading["change"]):
        names = [[f"{what}_{side}" for side in ("first", "second")] for what in ("runs", "clean")]
        runs, clean = (int(table[each].to_numpy().sum()) for each in names)
        return f"{verdict}: other load disturbed {runs - clean} of {counted(runs, 'run')}"
    is_open = leading["verdict"] == Verdict.NOT_DECIDED
    num_open = int((changes["verdict"] == Verdict.NOT_DECIDED).sum())
    rest = "" if is_open else f"; open: {num_open} of {len(changes)} changes"
    return f"not decided: no regression beyond {share} shown; {text}{rest}"


def regressions(changes: pd.DataFrame, table: pd.DataFrame, sweep: SweepRecord) -> list[str]:
    """Return a sentence for each regression, those of all configs together first."""
    shown = _by_weight(changes[changes["verdict"] == Verdict.REGRESSION], "p_worse")
    labels = labels_of(table, sweep)
    return [
        f"{row['metric']}: {change_text(row, labels, sweep)}" for row in shown.to_dict("records")
    ]


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


def _leading(changes: pd.DataFrame, verdict: Verdict) -> dict[Any, Any]:
    """Return the change that a sentence names."""
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
