"""The front: its pictures, its table, how the verdicts are judged; a study's figures next to ours.

Other hardware gives other figures. The gain of one setting over another within each study can be
compared, so the ratios are shown next to the figures.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import config_of, rows_of, text_of, texts_of
from orchestrator.analysis.recommendation import front as fronts
from orchestrator.analysis.report import tables
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.view import View, are_marked, limited
from orchestrator.analysis.statistics.against_best import Verdict
from orchestrator.analysis.statistics.intervals import is_narrow, ratio_interval
from orchestrator.analysis.wording import (
    interval_text,
    lacking,
    learned_word,
    ratio_text,
    short,
    shown,
)
from orchestrator.formats import counted, percent
from orchestrator.metrics import Published, is_accuracy
from orchestrator.space.configs import format_value
from orchestrator.trial import Stage

MAX_ROWS: Final = 40

_WORDS: Final = (
    "best: the highest figure; tied: shown to be as fast within the margin; worse: shown to be "
    "slower; unresolved: neither is shown, and more runs of it and of the best would tell",
    "with 95 % confidence the best config is not called worse and each ratio to it lies in its "
    "interval; of configs that are equally good one may be called worse more often than in 5 % of "
    "sweeps",
)
_HEAD: Final = ("setting", "figure", "published", "ratio", "here", "our ratio", "measured at")
_HOW: Final = (
    "their hardware differs from this one, so that the figures cannot be compared, but the gain of "
    "one setting over another within each study can: ratios are to the study's first row, and left "
    "out where ours differ in a knob that the study does not name"
)


def front_of(view: View) -> Iterator[tables.Section]:
    """Yield the pictures and the table of the main group."""
    first = "speed" if view.rule.is_of_speed else view.rule.speed.metric
    others = ["accuracy" if is_accuracy(o.metric) else o.metric for o in view.beside_speed]
    title = f"{first} against {' and '.join(others)}" if others else first
    table = front_table(view, view.shown)
    nothing = "" if table.rows else "no config completed with every objective measured"
    yield tables.Section("speed", title, missing=nothing, figures=tuple(scatter_figures(view)))
    if table.rows:
        folded = (("How this is judged, and how much of it is noise", tuple(_judged(view))),)
        signs = fronts.sign_notes(view.tables, view.configs, len(view.all_configs))
        notes = (*filter(None, [fronts.load_note(view.shown)]), *signs)
        yield tables.Section("front", "The front", 3, table=table, notes=notes, folded=folded)


def front_table(view: View, configs: pd.DataFrame) -> tables.Table:
    """Return the front, the marked configs and those that may be the best, fastest first.

    What a screen has no room for is shown on a click.
    """
    contenders = configs["verdict"].isin([Verdict.BEST, Verdict.TIED, Verdict.UNRESOLVED])
    keep, speed = configs[are_marked(configs) | contenders], view.rule.speed
    learned = learned_word(view.rule)
    keep = keep.sort_values(view.rule.speed_column, ascending=speed.sign < 0, kind="stable")
    rows = limited(keep, MAX_ROWS, are_marked(keep))
    columns: list[tables.Column] = []
    rest: list[tables.Column] = []
    others = tables.measured(rows, [objective.metric for objective in view.rule.objectives[1:]])
    for name in (speed.metric, *others):
        sign_of = _sign_of_speed if name == speed.metric else fronts.sign_of
        columns += tables.figure_columns([name], sign_of)
        if name == speed.metric or tables.measured(rows, [f"{name}_low"]):
            where = columns if name in (speed.metric, *others[:1]) else rest
            where.append((tables.INTERVAL, partial(_interval, metric=name)))
    columns += [
        ("against the best", partial(_verdict_cell, view=view)),
        ("ratio to the best", _ratio_cell),
    ]
    rest += [
        ("runs", lambda row: tables.Cell(fronts.runs_text(row, learned), float(row["num_runs"]))),
        *tables.figure_columns(tables.measured(rows, ["epoch_s"]), _sign_of_speed),
    ]
    if (texts_of(rows, "tags.bound") != "").any():
        rest.append(tables.text_column("bound by", "tags.bound"))
    marks = rows["is_recommended"].map({True: "recommended", False: ""})
    marks = marks.mask(~rows["on_front"] & (marks == ""), "off")
    return tables.table_of_configs(
        view, rows, columns, rest=rest, num_all=len(keep), marks=tuple(marks), sortable=True
    )


def _interval(row: tables.Row, metric: str) -> tables.Cell:
    return tables.Cell(interval_text(row, metric))


def _verdict_cell(row: tables.Row, view: View) -> tables.Cell:
    """Return a config's verdict in its colour; empty if it is not ranked.

    If a recommended config is tied, the cell has the margin, which it is shown to be within.
    """
    verdict, rule = text_of(row["verdict"]), view.rule
    if verdict in (Verdict.BEST, Verdict.WORSE) and not ratio_text(row):
        return tables.Cell("")  # a verdict without its figure
    text = verdict
    if row["is_recommended"] and verdict == Verdict.TIED:
        text = f"within {percent(rule.tie_margin)} of the {rule.fast[2]}"
    return tables.Cell(text, style=f"verdict {verdict}" if verdict else "")


def _ratio_cell(row: tables.Row) -> tables.Cell:
    ratio = row.get("ratio_to_best")
    return tables.Cell(ratio_text(row), number=None if pd.isna(ratio) else float(ratio))


def _sign_of_speed(row: tables.Row) -> str:
    is_searched = row.get(fronts.MEASURED_IN, Stage.TRAIN) == Stage.TRAIN
    sign = fronts.sign_of(row) if is_searched else ""
    return sign + fronts.load_sign_of(row)


def _judged(view: View) -> Iterator[str]:
    """Yield the number of verdicts, the meaning of the words, and the noise if it is known."""
    numbers, pool = view.configs["verdict"].value_counts(), view.tables.pool
    counts = [f"{numbers[verdict]} {verdict}" for verdict in Verdict if verdict in numbers]
    ranked = int((view.configs["verdict"] != "").sum())
    is_accurate = lacking(view.rule) == "not accurate enough"
    enough = "accurate enough" if is_accurate else "good enough"
    yield (
        f"of {counted(len(view.all_configs), 'completed config')} {ranked} {enough} to "
        f"be ranked: {', '.join(counts)}; a tie is a ratio within {percent(view.rule.tie_margin)}"
    )
    yield from _WORDS
    yield "no config was run twice: repeats would tell the spread" if pool is None else pool.text


# -- published figures


def published_of(view: View) -> list[tables.Section]:
    """Return the published figures that the sweep names, a table for each source."""
    entries: dict[str, list[Published]] = {}
    for entry in view.sweep.published:
        entries.setdefault(entry.source, []).append(entry)
    studies = [
        _study(view, source, some, number)
        for number, (source, some) in enumerate(entries.items(), start=1)
    ]
    lines = (_HOW,) * any(study.table for study in studies)
    head = tables.Section("published", "Published figures beside these", lines=lines)
    return [head, *studies] if studies else []


def _study(view: View, source: str, entries: list[Published], number: int) -> tables.Section:
    """Return the figures of one source, each next to ours for the same setting.

    Figures of another data set than the run's are replaced by a sentence. Records of earlier
    versions name none: there the set is another one if a set replaced the sweep's.
    """
    sweep, notes, rows = view.sweep, dict[str, None](), list[tuple[tables.Cell, ...]]()
    firsts: dict[str, tuple[float, tables.Row | None]] = {}
    named = {f"params.{knob}" for entry in entries for knob in entry.knobs}
    for entry in entries:
        is_same = entry.data == sweep.data if entry.data else not sweep.data_note
        if entry.figures and not is_same:
            other = entry.data or "the sweep's own data set"
            note = f"its figures are of {other}: they are not shown beside those of {sweep.data}"
            notes[note] = None
            continue
        notes[entry.note] = None
        setting = " ".join(f"{k}={short(v)}" for k, v in entry.knobs.items())
        for metric, figure in entry.figures.items():
            row = _our_config(view, entry.knobs, metric)
            first, our_first = firsts.setdefault(metric, (float(figure), row))
            ours = ("not measured", "", "no completed config")
            if row is not None:
                text = f"{shown(metric, float(row[f'metrics.{metric}']))}{fronts.sign_of(row)}"
                ratio = "" if our_first is None else _ratio(view, metric, row, our_first, named)
                ours = (text, ratio, str(row["label"]))
            theirs = (shown(metric, figure), f"{figure / first:.2f}" if first else "")
            rows.append(tuple(map(tables.Cell, (setting, metric, *theirs, *ours))))
    return tables.Section(
        f"published-{number}",
        source,
        level=3,
        table=tables.Table(head=_HEAD, rows=tuple(rows)) if rows else None,
        notes=tuple(filter(None, notes)),
    )


def _our_config(view: View, knobs: Mapping[str, Any], metric: str) -> tables.Row | None:
    """Return the one of our configs with these knob values that is nearest to the baseline."""
    is_of_test = metric.startswith(("test_", "all_"))  # all nodes: also the test split's
    configs, column = view.finals if is_of_test else view.configs, f"metrics.{metric}"
    if column not in configs or any(f"params.{name}" not in configs for name in knobs):
        return None
    baseline = {name: format_value(value) for name, value in view.sweep.baseline.items()}

    def distance(row: tables.Row) -> int:
        config = config_of(row, view.sweep)
        return sum(format_value(config[k]) != v for k, v in baseline.items() if k in config)

    rows = configs[rows_of(configs, knobs) & configs[column].notna()].to_dict("records")
    return min(rows, key=distance, default=None)


def _ratio(view: View, metric: str, row: tables.Row, first: tables.Row, named: set[str]) -> str:
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
