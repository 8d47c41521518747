"""A study's figures next to ours.

Other hardware gives other figures. The gain of one setting over another within each study can be
compared, so the ratios are shown next to the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from orchestrator.analysis.columns import as_plain, config_of, rows_of
from orchestrator.analysis.recommendation.front import sign_of
from orchestrator.analysis.report.tables import Cell, Section, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.intervals import is_narrow, ratio_interval
from orchestrator.analysis.wording import short, shown
from orchestrator.metrics import Published
from orchestrator.space.configs import format_value

_HEAD: Final = ("setting", "figure", "published", "ratio", "here", "our ratio", "measured at")
_HOW: Final = (
    "their hardware differs from this one, so that the figures cannot be compared, but the gain of "
    "one setting over another within each study can: ratios are to the study's first row, and left "
    "out where ours differ in a knob that the study does not name"
)

Row = Mapping[Any, Any]


def published_of(view: View) -> tuple[Section, ...]:
    """Return the published figures that the sweep names, a table for each source."""
    entries: dict[str, list[Published]] = {}
    for entry in view.sweep.published:
        entries.setdefault(entry.source, []).append(entry)
    if not entries:
        return ()
    studies = [
        _study(view, source, some, number)
        for number, (source, some) in enumerate(entries.items(), start=1)
    ]
    lines, title = (_HOW,) * any(study.table for study in studies), "Published figures beside these"
    return (Section("published", title, lines=lines), *studies)


def _study(view: View, source: str, entries: list[Published], number: int) -> Section:
    """Return the figures of one source, each next to ours for the same setting.

    Figures of another data set than the run's are replaced by a sentence. Records of earlier
    versions name none: there the set is another one if a set replaced the sweep's.
    """
    sweep, notes, rows = view.sweep, dict[str, None](), list[tuple[Cell, ...]]()
    firsts: dict[str, tuple[float, Row | None]] = {}
    named = {f"params.{knob}" for entry in entries for knob in entry.knobs}
    for entry in entries:
        is_same = entry.data == sweep.data if entry.data else not sweep.data_note
        if entry.figures and not is_same:
            theirs = entry.data or "the sweep's own data set"
            note = f"its figures are of {theirs}: they are not shown beside those of {sweep.data}"
            notes[note] = None
            continue
        notes[entry.note] = None
        for metric, figure in entry.figures.items():
            row = _our_config(view, entry.knobs, metric)
            first, our_first = firsts.setdefault(metric, (float(figure), row))
            ours, ratio, label = "not measured", "", "no completed config"
            if row is not None:
                ours = f"{shown(metric, float(row[f'metrics.{metric}']))}{sign_of(row)}"
                label = str(row["label"])
                ratio = "" if our_first is None else _ratio(view, metric, row, our_first, named)
            texts = (
                " ".join(f"{k}={short(as_plain(v))}" for k, v in entry.knobs.items()),
                metric,
                shown(metric, figure),
                f"{figure / first:.2f}" if first else "",
                ours,
                ratio,
                label,
            )
            rows.append(tuple(Cell(text) for text in texts))
    return Section(
        f"published-{number}",
        source,
        level=3,
        table=Table(head=_HEAD, rows=tuple(rows)) if rows else None,
        notes=tuple(filter(None, notes)),
    )


def _our_config(view: View, knobs: Mapping[str, Any], metric: str) -> Row | None:
    """Return the one of our configs with these knob values that is nearest to the baseline."""
    is_of_test = metric.startswith(("test_", "all_"))  # all nodes: also the test split's
    configs, column = view.confirmed if is_of_test else view.configs, f"metrics.{metric}"
    if column not in configs or any(f"params.{name}" not in configs for name in knobs):
        return None
    baseline = {name: format_value(value) for name, value in view.sweep.baseline.items()}

    def distance(row: Row) -> int:
        config = config_of(row, view.sweep)
        return sum(format_value(config[k]) != v for k, v in baseline.items() if k in config)

    rows = configs[rows_of(configs, knobs) & configs[column].notna()].to_dict("records")
    return min(rows, key=distance, default=None)


def _ratio(view: View, metric: str, row: Row, first: Row, named: set[str]) -> str:
    """Return our figure over our figure for the study's first row.

    Empty if ours differ in a knob that the study does not name: the ratio would include the
    effect of that knob.
    """
    others = [n for n in row if str(n).startswith("params.") and n not in named]
    if any(row[name] != first[name] for name in others):
        return ""
    if row["trial_ids"] == first["trial_ids"]:
        return "1.00"
    runs = [
        view.trials.loc[view.trials["trial_id"].isin([*each["timed_ids"]]), f"metrics.{metric}"]
        for each in (row, first)
    ]
    ours, theirs = (some[some > 0].to_numpy(dtype=np.float64) for some in runs)
    if not len(ours) or not len(theirs):
        return ""
    interval = ratio_interval(ours, theirs)
    if np.isnan(interval.low):
        return f"{interval.centre:.2f} (one run each)"
    if not is_narrow(interval.low, interval.high):
        return "not known"
    return f"{interval.centre:.2f} ({interval.low:.2f} to {interval.high:.2f})"
