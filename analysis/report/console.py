"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.columns import config_of
from analysis.comparison.compare import Comparison
from analysis.comparison.text import common_text, verdict
from analysis.recommendation.front import front_table, main_front
from analysis.recommendation.recommend import Recommendation
from analysis.report.summary import summary
from analysis.tables.run_tables import RunTables
from analysis.wording import format_config, interval_text, runs_text, shown
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord

MAX_ROWS: Final = 30
_WIDTH_OF_FILES: Final = 140


def show_run(tables: RunTables, recommendation: Recommendation, run_dir: Path) -> None:
    """Print a run's front and the lines that a run ends with."""
    sweep = tables.sweep
    front = main_front(front_table(tables))
    metrics = [objective.metric for objective in sweep.objectives]
    table = _table(f"{sweep.name}: the front")
    table.add_column("config")
    for head in (metrics[0], "95 % interval", *metrics[1:]):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict")
    differs = bool((front["num_runs"] != front["num_all_runs"]).any())
    if differs:
        table.add_column("runs", no_wrap=True)
    for row in front.head(MAX_ROWS).to_dict("records"):
        figures = [shown(metric, row[f"metrics.{metric}"]) for metric in metrics]
        interval = interval_text(row, metrics[0])
        table.add_row(
            escape(format_config(config_of(row, sweep), sweep)),
            figures[0],
            interval,
            *figures[1:],
            row["verdict"],
            *[runs_text(row)] * differs,
        )
    console = _console()
    if len(front):
        console.print(table)
    if len(front) > MAX_ROWS:
        _print(console, f"... and {len(front) - MAX_ROWS} more in {run_dir / RunFile.FRONT}")
    basis = front["interval"].unique()
    if len(front):
        _print(console, f"95 % intervals: {'; '.join(basis)}")
    for line in summary(tables, recommendation, run_dir=run_dir, width=_width(console)):
        _print(console, line)


def show_comparison(comparison: Comparison, sweep: SweepRecord) -> None:
    """Print the configs that two runs share, and why others are not compared."""
    pairs = f", {comparison.num_pairs} pairs of runs" if comparison.num_pairs > 1 else ""
    table = _table(f"{comparison.metric}, second over first{pairs}")
    for head in ("config", "stage", "runs"):
        table.add_column(head)
    for head in ("first", "second", "ratio", "over the others'", "95 % interval", "p (Holm)"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("change of its own", no_wrap=True)
    for row in comparison.table.to_dict("records"):
        table.add_row(*_compared(row, sweep))
    console = _console()
    console.print(table)
    for common in comparison.common:
        _print(console, f"in common, {common_text(common)}")
    for difference, count in comparison.mismatches.items():
        _print(console, f"not compared, {count} times: {difference}")
    for note in comparison.notes:
        _print(console, f"note: {note}")


def _compared(row: Mapping[Any, Any], sweep: SweepRecord) -> list[str]:
    return [
        escape(format_config(config_of(row, sweep), sweep)),
        row["stage"],
        f"{row['runs_first']}, {row['runs_second']}",
        *(shown("", row[f"speed_{side}"]) for side in ("first", "second")),
        f"{row['ratio']:.3f}",
        "" if pd.isna(row["own"]) else f"{row['own']:.3f}",
        "" if pd.isna(row["own"]) else f"{row['own_low']:.3f} to {row['own_high']:.3f}",
        "" if pd.isna(row["p_value"]) else f"{row['p_value']:.2g}",
        verdict(row),
    ]


def _table(title: str) -> Table:
    return Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)


def _console() -> Console:
    """Return standard output; a file has no width, and gets one that tables fit in."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_OF_FILES)


def _width(console: Console) -> int | None:
    """Return the columns of a terminal; None for a file, whose lines are not broken."""
    return console.width if console.is_terminal else None


def _print(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
