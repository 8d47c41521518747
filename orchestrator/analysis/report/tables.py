"""The report's tables: text to read, and the numbers that they are sorted by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of, text_of
from orchestrator.analysis.recommendation.front import MEASURED_IN, measured_runs_text, sign_of
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.statistics.against_best import Verdict
from orchestrator.analysis.wording import interval_text, short, shown, telling_knobs
from orchestrator.formats import counted, percent
from orchestrator.metric_table import unit_of
from orchestrator.trial import Stage

INTERVAL: Final = "95 % interval"
_PLAIN: Final = re.compile(r"-?[\d,]+(\.\d+)?(e[-+]?\d+)?")
"""Text that a browser reads the number from itself."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Text of a cell, its number where it has one; a style and a file to open, or ""."""

    text: str
    number: float | None = None
    style: str = ""
    link: str = ""

    @property
    def needs_key(self) -> bool:
        """True where the number cannot be read from the text."""
        return self.number is not None and _PLAIN.fullmatch(self.text) is None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table to be rendered.

    Attributes:
        head: Column titles; that of a metric alone has its unit below it on the page.
        rows: Cells by row.
        marks: A word a row that the page gives a style of its own, or "".
        num_left_out: Rows that there was no room for.
        num_rest: The last columns, as many, are shown on a click.
        same: Title and text of columns with the same text in every row, which are no columns.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    marks: tuple[str, ...]
    num_left_out: int = 0
    num_rest: int = 0
    same: tuple[tuple[str, str], ...] = ()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """True for each column that holds numbers."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.head)
        return tuple(any(cell.number is not None for cell in column) for column in columns)

    def to_frame(self) -> pd.DataFrame:
        """Return the cells as a frame: numbers where they are numbers, else the text.

        An interval is called after the column before it.
        """
        cells = [
            [cell.text if cell.number is None else cell.number for cell in row] for row in self.rows
        ]
        names = [
            f"{before} {name}" if name == INTERVAL else name
            for before, name in zip(("", *self.head), self.head, strict=False)
        ]
        return pd.DataFrame(cells, columns=names)


def without_same(table: Table, *, among: Sequence[str]) -> Table:
    """Return the table without the columns in which all rows are the same: they are named below.

    Args:
        table: Any table; of one row, or none, all columns stay.
        among: Titles of the columns that may go.
    """
    if len(table.rows) < 2:
        return table
    columns = list(zip(*table.rows, strict=True))
    are_same = [
        name in among and len({cell.text for cell in column}) == 1
        for name, column in zip(table.head, columns, strict=True)
    ]
    kept = [place for place, is_same in enumerate(are_same) if not is_same]
    same = [
        (name, column[0].text)
        for name, column, is_same in zip(table.head, columns, are_same, strict=True)
        if is_same
    ]
    return replace(
        table,
        head=tuple(table.head[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        same=tuple((name, text or "nothing") for name, text in same),
    )


def front_table(view: View, configs: pd.DataFrame) -> Table:
    """Return the front's configs with the recommended one and the baseline, fastest first."""
    keep = configs["on_front"] | configs["is_recommended"] | configs["is_baseline"]
    speed = view.objectives[0]
    rows = configs[keep].sort_values(
        f"metrics.{speed.metric}", ascending=speed.sign < 0, kind="stable"
    )
    metrics = measured(rows, [*(o.metric for o in view.objectives), "epoch_s"])
    knobs = telling_knobs([config_of(r, view.sweep) for r in rows.to_dict("records")], view.sweep)
    bounded = [m for m in metrics[1:] if _has_interval(rows, m)]
    bound = {"tags.bound": "bound by"} if _any_text(rows, "tags.bound") else {}
    cells = tuple(
        (
            Cell(text=_role(row)),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            figure_cell(speed.metric, row[f"metrics.{speed.metric}"], _sign_of_speed(row)),
            Cell(text=interval_text(row, speed.metric)),
            verdict_cell(row, view.rule),
            Cell(text=_runs(row, view), number=float(row["num_runs"])),
            *(cell for metric in metrics[1:] for cell in _figure_cells(metric, row, bounded)),
            *(Cell(text=text_of(row[column])) for column in bound),
        )
        for row in rows.to_dict("records")
    )
    head = (
        "",
        *knobs,
        speed.metric,
        INTERVAL,
        "against the best",
        "runs",
        *(head for m in metrics[1:] for head in (m, *([INTERVAL] * (m in bounded)))),
        *bound.values(),
    )
    marks = tuple(map(_mark, rows["is_recommended"], rows["on_front"]))
    return without_same(Table(head=head, rows=cells, marks=marks), among=knobs)


def when(unix_time: float | None) -> str:
    """Return ``2026-11-21 09:00 UTC``, or "" where there is none."""
    if unix_time is None or pd.isna(unix_time):
        return ""
    return f"{datetime.fromtimestamp(unix_time, UTC):%Y-%m-%d %H:%M} UTC"


def measured(rows: pd.DataFrame, metrics: list[str]) -> list[str]:
    """Return the metrics that any of the rows has."""
    columns = {metric: f"metrics.{metric}" for metric in dict.fromkeys(metrics)}
    return [m for m, column in columns.items() if column in rows and rows[column].notna().any()]


def _any_text(rows: pd.DataFrame, column: str) -> bool:
    return column in rows and bool((rows[column].map(text_of) != "").any())


def verdict_cell(row: Mapping[Any, Any], rule: Rule) -> Cell:
    """Return a config's verdict in its colour; empty where it is not ranked.

    Of the recommended one that is tied the margin is said, which it is shown to be within.
    """
    verdict = text_of(row.get("verdict"))
    if row.get("is_recommended") and verdict == Verdict.TIED:
        best = "fastest" if rule.is_of_speed else "best"
        return Cell(text=f"within {percent(rule.tie_margin)} of the {best}", style="verdict tied")
    return Cell(text=verdict, style=f"verdict {verdict}" if verdict else "")


def knob_cell(value: object) -> Cell:
    """Return a knob's value."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(text=short(value), number=float(value) if is_number else None)  # type: ignore[arg-type]


def figure_cell(metric: str, value: float, sign: str = "") -> Cell:
    """Return a figure without its unit, which the head has; empty where it was not measured.

    Args:
        metric: The figure's name.
        value: The figure.
        sign: Stands behind it.
    """
    if pd.isna(value):
        return Cell(text="")
    unit = unit_of(metric)
    text = shown(metric, value).removesuffix(" samples/s").removesuffix(f" {unit}")
    return Cell(text=text + sign, number=float(value))


def _figure_cells(metric: str, row: Mapping[Any, Any], bounded: list[str]) -> tuple[Cell, ...]:
    """Return a figure of a config, and its interval where any config has one."""
    figure = figure_cell(metric, row[f"metrics.{metric}"], sign_of(row))
    return (figure, Cell(text=interval_text(row, metric))) if metric in bounded else (figure,)


def _has_interval(rows: pd.DataFrame, metric: str) -> bool:
    return f"metrics.{metric}_low" in rows and bool(rows[f"metrics.{metric}_low"].notna().any())


def _runs(row: Mapping[Any, Any], view: View) -> str:
    """Return the runs of a config; of a factored search its probes and its curves."""
    if row.get(MEASURED_IN) == Stage.CONFIRM or not view.num_candidates:
        return measured_runs_text(row, learned_word(view.rule))
    probes, curves = int(row["num_runs"]), int(row["num_all_runs"])
    return f"{counted(probes, 'probe')}, {counted(curves, 'curve')}"


def _sign_of_speed(row: Mapping[Any, Any]) -> str:
    return "" if row.get(MEASURED_IN) == Stage.CONFIRM else sign_of(row)


def _role(row: Mapping[Any, Any]) -> str:
    return ", ".join(word for word in ("recommended", "baseline") if row[f"is_{word}"])


def _mark(is_recommended: bool, on_front: bool) -> str:
    return "recommended" if is_recommended else "" if on_front else "off"
