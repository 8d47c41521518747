"""The report's tables: text to read, and the numbers that they are sorted by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pandas as pd

from analysis.columns import config_of, flagged, text_of
from analysis.comparable import GROUP
from analysis.recommendation.composed import sign_of
from analysis.report.states import gone_on
from analysis.report.view import View
from analysis.wording import (
    counted,
    format_config,
    interval_text,
    runs_text,
    short,
    shown,
    telling_knobs,
)
from orchestrator.trial import TrialState

MAX_ROWS: Final = 2000
"""A page with more rows is slow to open; ``trials.csv`` has them all."""


_TAGS: Final = ("bound", "contaminated", "oversubscribed")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Text of a cell, its number where it has one, and a style of its own, or ""."""

    text: str
    number: float | None = None
    style: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table to be rendered.

    Attributes:
        head: Column titles.
        rows: Cells by row.
        marks: A word a row that the page gives a style of its own, or "".
        num_left_out: Rows that there was no room for.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    marks: tuple[str, ...]
    num_left_out: int = 0

    @property
    def numeric(self) -> tuple[bool, ...]:
        """True for each column that holds numbers."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.head)
        return tuple(any(cell.number is not None for cell in column) for column in columns)

    def to_frame(self) -> pd.DataFrame:
        """Return the cells as a frame: numbers where they are numbers, else the text."""
        cells = [
            [cell.text if cell.number is None else cell.number for cell in row] for row in self.rows
        ]
        return pd.DataFrame(cells, columns=list(self.head))


def front_table(view: View, configs: pd.DataFrame) -> Table:
    """Return the front's configs with the recommended one and the baseline, fastest first."""
    keep = configs["on_front"] | configs["is_recommended"] | configs["is_baseline"]
    speed = view.objectives[0]
    rows = configs[keep].sort_values(
        f"metrics.{speed.metric}", ascending=speed.sign < 0, kind="stable"
    )
    metrics = _measured(rows, [*(o.metric for o in view.objectives), "epoch_s"])
    knobs = telling_knobs([config_of(r, view.sweep) for r in rows.to_dict("records")], view.sweep)
    bounded = [m for m in metrics[1:] if _has_interval(rows, m)]
    bound = {"tags.bound": "bound by"} if _any_text(rows, "tags.bound") else {}
    cells = tuple(
        (
            Cell(text=_role(row)),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            figure_cell(speed.metric, row[f"metrics.{speed.metric}"], sign_of(row)),
            Cell(text=interval_text(row, speed.metric)),
            verdict_cell(row),
            Cell(text=_runs(row, view), number=float(row["num_runs"])),
            *(cell for metric in metrics[1:] for cell in _figure_cells(metric, row, bounded)),
            *(Cell(text=text_of(row[column])) for column in bound),
        )
        for row in rows.to_dict("records")
    )
    return Table(
        head=(
            "",
            *knobs,
            speed.metric,
            "95 % interval",
            "against the best",
            "runs",
            *(head for m in metrics[1:] for head in (m, *(["95 % interval"] * (m in bounded)))),
            *bound.values(),
        ),
        rows=cells,
        marks=tuple(map(_mark, rows["is_recommended"], rows["on_front"])),
    )


def trials_table(view: View) -> Table:
    """Return every trial, with the knobs that tell them apart and the figures measured."""
    trials = view.trials
    shown_rows = trials.head(MAX_ROWS)
    configs = [config_of(row, view.sweep) for row in shown_rows.to_dict("records")]
    knobs = [k for k in telling_knobs(configs, view.sweep) if f"params.{k}" in trials.columns]
    wanted = [*(o.metric for o in view.objectives), "test_acc", "val_acc", "val_balanced_acc",
              "val_auc", "train_loss", "epoch_s", "step_ms", "wait_ms", "peak_rss_gib",
              "peak_gpu_gib", "worker_growth_mib_per_epoch"]  # fmt: skip
    metrics = _measured(trials, wanted)
    groups = [GROUP] if trials[GROUP].nunique() > 1 else []
    rows = tuple(
        (
            Cell(text=row["trial_id"]),
            Cell(text=row["stage"]),
            Cell(text=row["state"].replace("_", " ")),
            *(Cell(text=row[group]) for group in groups),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            *(figure_cell(metric, row[f"metrics.{metric}"]) for metric in metrics),
            figure_cell("wall_s", row.get("wall_s", float("nan"))),
            Cell(text=_tags(row)),
        )
        for row in shown_rows.to_dict("records")
    )
    return Table(
        head=(
            "trial",
            "stage",
            "state",
            *("conditions" for _ in groups),
            *knobs,
            *metrics,
            "wall_s",
            "remarks",
        ),
        rows=rows,
        marks=tuple(shown_rows["state"]),
        num_left_out=len(trials) - len(rows),
    )


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Trials without a result that share a reason."""

    state: str
    reason: str
    count: int
    configs: tuple[str, ...]


def lost_trials(view: View, *, max_configs: int = 4) -> list[Lost]:
    """Return the trials that did not complete, the most frequent reason first.

    A trial that was paused is none of them if a later one went on with it.
    """
    is_lost = (view.trials["state"] != TrialState.COMPLETED) & ~gone_on(view.trials)
    trials = view.trials[is_lost]
    labels = [
        format_config(config_of(row, view.sweep), view.sweep) for row in trials.to_dict("records")
    ]
    groups = trials.assign(label=labels).groupby(["state", "reason"], sort=False, dropna=False)
    lost = [
        Lost(
            state=str(state).replace("_", " "),
            reason=text_of(reason) or _no_reason(state),
            count=len(configs),
            configs=tuple(dict.fromkeys(configs))[:max_configs],
        )
        for (state, reason), configs in groups["label"]
    ]
    return sorted(lost, key=lambda group: -group.count)


def _no_reason(state: object) -> str:
    is_stopped = state == TrialState.STOPPED
    return "the search had seen enough" if is_stopped else "no reason recorded"


def when(unix_time: float | None) -> str:
    """Return ``2026-11-21 09:00 UTC``, or "" where there is none."""
    if unix_time is None or pd.isna(unix_time):
        return ""
    return f"{datetime.fromtimestamp(unix_time, UTC):%Y-%m-%d %H:%M} UTC"


def _measured(rows: pd.DataFrame, metrics: list[str]) -> list[str]:
    """Return the metrics that any of the rows has."""
    columns = {metric: f"metrics.{metric}" for metric in dict.fromkeys(metrics)}
    return [m for m, column in columns.items() if column in rows and rows[column].notna().any()]


def _any_text(rows: pd.DataFrame, column: str) -> bool:
    return column in rows and bool((rows[column].map(text_of) != "").any())


def verdict_cell(row: Mapping[Any, Any]) -> Cell:
    """Return a config's verdict in its colour; empty where it is not ranked."""
    verdict = text_of(row.get("verdict"))
    return Cell(text=verdict, style=f"verdict {verdict}" if verdict else "")


def knob_cell(value: object) -> Cell:
    """Return a knob's value."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(text=short(value), number=float(value) if is_number else None)  # type: ignore[arg-type]


def figure_cell(metric: str, value: float, sign: str = "") -> Cell:
    """Return a figure with its unit, and a sign behind it; empty where it was not measured."""
    if pd.isna(value):
        return Cell(text="")
    return Cell(text=shown(metric, value).removesuffix(" samples/s") + sign, number=float(value))


def _figure_cells(metric: str, row: Mapping[Any, Any], bounded: list[str]) -> tuple[Cell, ...]:
    """Return a figure of a config, and its interval where any config has one."""
    figure = figure_cell(metric, row[f"metrics.{metric}"], sign_of(row))
    return (figure, Cell(text=interval_text(row, metric))) if metric in bounded else (figure,)


def _has_interval(rows: pd.DataFrame, metric: str) -> bool:
    return f"metrics.{metric}_low" in rows and bool(rows[f"metrics.{metric}_low"].notna().any())


def _runs(row: Mapping[Any, Any], view: View) -> str:
    """Return the runs of a config; of a factored search its probes and its curves."""
    if not view.num_candidates:
        return runs_text(row)
    probes, curves = int(row["num_runs"]), int(row["num_all_runs"])
    return f"{counted(probes, 'probe')}, {counted(curves, 'curve')}"


def _role(row: Mapping[Any, Any]) -> str:
    return ", ".join(word for word in ("recommended", "baseline") if row[f"is_{word}"])


def _mark(is_recommended: bool, on_front: bool) -> str:
    return "recommended" if is_recommended else "" if on_front else "off"


def _tags(row: Mapping[Any, Any]) -> str:
    """Return the flags of a trial and the first line of its reason."""
    tags = {name: text_of(row.get(f"tags.{name}")) for name in _TAGS}
    flags = [f"{name}: {tag}" for name, tag in tags.items() if flagged(pd.Series([tag])).all()]
    reason = text_of(row.get("reason")).partition("\n")[0]
    return "; ".join([*flags, reason] if reason else flags)
