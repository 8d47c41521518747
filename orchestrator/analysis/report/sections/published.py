"""A study's figures beside ours.

Other hardware gives other figures: what can be compared is how much one setting gains
over another within each study, so that ratios stand beside the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import as_plain, config_of, rows_of
from orchestrator.analysis.recommendation.front import sign_of
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.intervals import is_narrow, ratio_interval
from orchestrator.analysis.wording import short, shown
from orchestrator.metrics import Published
from orchestrator.space.configs import format_value
from orchestrator.storage.sweep_record import SweepRecord


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One figure of a study and ours for the same setting.

    Attributes:
        settings: The knob values of the figure.
        metric: Name of the figure.
        theirs: As published.
        their_ratio: Over the study's first row with this figure.
        ours: Ours, or why there is none.
        our_ratio: Ours over our figure for that first row; empty where one is missing, or where the
            two differ in a knob that the study does not name.
        our_config: The config that ``ours`` was measured at, or why there is none.
    """

    settings: str
    metric: str
    theirs: str
    their_ratio: str
    ours: str
    our_ratio: str
    our_config: str


@dataclass(kw_only=True)
class Study:
    """All figures of one source.

    Attributes:
        source: The study and its hardware.
        notes: Differences in how it was measured.
        rows: Its figures.
    """

    source: str
    notes: list[str] = field(default_factory=list)
    rows: list[PublishedRow] = field(default_factory=list)


def studies(view: View) -> list[Study]:
    """Return the published figures that the sweep names, grouped by their source."""
    studies_by_source: dict[str, Study] = {}
    firsts: dict[tuple[str, str], tuple[float, Mapping[Any, Any] | None]] = {}
    for entry in view.sweep.published:
        study = studies_by_source.setdefault(entry.source, Study(source=entry.source))
        elsewhere = _of_another_set(entry, view.sweep)
        note = elsewhere or entry.note
        if note and note not in study.notes:
            study.notes.append(note)
        if elsewhere:
            continue
        settings = " ".join(f"{k}={short(as_plain(v))}" for k, v in entry.knobs.items())
        for metric, theirs in entry.figures.items():
            row = _our_config(view, entry.knobs, metric)
            ours = _figure(row, metric)
            first = firsts.setdefault((entry.source, metric), (float(theirs), row))
            study.rows.append(
                PublishedRow(
                    settings=settings,
                    metric=metric,
                    theirs=shown(metric, theirs),
                    their_ratio=_ratio(theirs, first[0]),
                    ours="not measured"
                    if ours is None
                    else f"{shown(metric, ours)}{sign_of(row or {})}",
                    our_ratio=_our_ratio(view, metric, row, first[1], _named(view, entry.source)),
                    our_config=_why_none(view, entry.knobs, metric)
                    if row is None
                    else str(row["label"]),
                )
            )
    return list(studies_by_source.values())


def _of_another_set(entry: Published, sweep: SweepRecord) -> str:
    """Return a sentence where the figures are of another data set than the run's, or nothing.

    Advice without figures is of no set. Records of earlier versions name none: there it is another
    one if a set stood in for the sweep's.
    """
    same = entry.data == sweep.data if entry.data else not sweep.data_note
    if same or not entry.figures:
        return ""
    theirs = entry.data or "the sweep's own data set"
    return f"Its figures are of {theirs}: they are not shown beside those of {sweep.data}"


def _our_config(view: View, knobs: Mapping[str, Any], metric: str) -> Mapping[Any, Any] | None:
    """Return, of our configs with these knob values, the one nearest to the baseline."""
    configs = view.configs
    if _is_of_test(metric):
        tested = view.confirmed.get(f"metrics.{metric}")
        configs = view.confirmed.iloc[:0] if tested is None else view.confirmed[tested.notna()]
    known = all(f"params.{name}" in configs.columns for name in knobs)
    rows = configs[rows_of(configs, knobs)] if known else configs.iloc[:0]
    if rows.empty:
        return None
    return min(rows.to_dict("records"), key=lambda row: _distance(row, view.sweep))


def _is_of_test(metric: str) -> bool:
    return metric.startswith(("test_", "all_"))  # all nodes: those of the test split, too


def _why_none(view: View, knobs: Mapping[str, Any], metric: str) -> str:
    """Return why no config has these knob values; where the sweep rules it out, what would."""
    fixed = view.sweep.fixed
    otherwise = [
        name
        for name in view.sweep.knobs
        if name in knobs and name in fixed and name not in view.sweep.space
        if format_value(knobs[name]) != format_value(fixed[name])
    ]
    if otherwise:
        ours = " ".join(f"{name}={short(as_plain(fixed[name]))}" for name in otherwise)
        theirs = " ".join(f"--set {name}={format_value(knobs[name])}" for name in otherwise)
        return f"no completed config: the sweep fixes {ours}; {theirs} would fill it"
    if _is_of_test(metric):
        return "test is measured for the recommended config only"
    return "no completed config"


def _distance(row: Mapping[Any, Any], sweep: SweepRecord) -> int:
    config, baseline = config_of(row, sweep), sweep.baseline
    return sum(
        format_value(config[k]) != format_value(v) for k, v in baseline.items() if k in config
    )


def _figure(row: Mapping[Any, Any] | None, metric: str) -> float | None:
    value = None if row is None else row.get(f"metrics.{metric}")
    return None if value is None or pd.isna(value) else float(value)


def _named(view: View, source: str) -> set[str]:
    """Return the knobs that a study names."""
    return {k for entry in view.sweep.published if entry.source == source for k in entry.knobs}


def _our_ratio(
    view: View,
    metric: str,
    row: Mapping[Any, Any] | None,
    first: Mapping[Any, Any] | None,
    named: set[str],
) -> str:
    """Return our figure over the one beside the study's first row, as far as it is known.

    Empty where one is missing, or where ours differ in a knob that the study does not name: the
    ratio would be of that knob as well.
    """
    ours, theirs = _figure(row, metric), _figure(first, metric)
    if row is None or first is None or ours is None or theirs is None:
        return ""
    others = [name for name in row if str(name).startswith("params.")]
    others = [name for name in others if name.removeprefix("params.") not in named]
    alike = all(row[name] == first[name] for name in others)
    return _with_interval(view, metric, row, first) if alike else ""


def _ratio(value: float, first: float) -> str:
    return f"{value / first:.2f}" if first else ""


def _with_interval(
    view: View, metric: str, row: Mapping[Any, Any], first: Mapping[Any, Any]
) -> str:
    """Return a ratio of two of our configs with its interval, as far as that is known."""
    if row["trial_ids"] == first["trial_ids"]:
        return "1.00"
    ours, theirs = (_runs(view, metric, each) for each in (row, first))
    if not len(ours) or not len(theirs):
        return ""
    interval = ratio_interval(ours, theirs)
    if interval.num_values < 3:
        return f"{interval.centre:.2f} (one run each)"
    if not is_narrow(interval.low, interval.high):
        return "not known"
    return f"{interval.centre:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _runs(view: View, metric: str, row: Mapping[Any, Any]) -> npt.NDArray[np.float64]:
    """Return a figure of each of a config's runs that its mean is of."""
    column, ids = f"metrics.{metric}", {*row["timed_ids"]}
    if column not in view.trials.columns:
        return np.empty(0)
    figures = view.trials.loc[view.trials["trial_id"].isin(ids), column].dropna()
    return figures[figures > 0].to_numpy(dtype=np.float64)
