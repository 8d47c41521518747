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
from analysis.recommendation.front import FRONT_FILE, front_table, main_front
from analysis.recommendation.recommend import Recommendation
from analysis.report.summary import summary
from analysis.rule import objectives_of
from analysis.tables.load import load, load_sweep
from analysis.wording import interval_text, label, shown

MAX_ROWS: Final = 30
_WIDTH_OF_FILES: Final = 140


def show_run(run_dir: Path, recommendation: Recommendation) -> None:
    """Prints a run's front and the lines that a run ends with."""
    sweep, trials = load_sweep(run_dir), load(run_dir)
    front = main_front(front_table(trials, sweep))
    metrics = [objective.metric for objective in objectives_of(sweep)]
    table = _table(f"{sweep['name']}: the front")
    table.add_column("config")
    for head in (metrics[0], "95 % interval", *metrics[1:]):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in front.head(MAX_ROWS).to_dict("records"):
        figures = [shown(metric, row[f"metrics.{metric}"]) for metric in metrics]
        interval = interval_text(row, metrics[0])
        table.add_row(
            escape(label(config_of(row, sweep), sweep)),
            figures[0],
            interval,
            *figures[1:],
            row["verdict"],
        )
    console = _console()
    if len(front):
        console.print(table)
    if len(front) > MAX_ROWS:
        _say(console, f"... and {len(front) - MAX_ROWS} more in {run_dir / FRONT_FILE}")
    basis = front["interval"].unique()
    if len(front):
        _say(console, f"95 % intervals: {'; '.join(basis)}")
    for line in summary(trials, sweep, recommendation, run_dir=run_dir):
        _say(console, line)


def show_comparison(comparison: Comparison, sweep: Mapping[str, Any]) -> None:
    """Prints the configs that two runs share, and what kept others apart."""
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
        _say(console, f"in common, {common.text}")
    for difference, count in comparison.kept_apart.items():
        _say(console, f"kept apart, {count} times: {difference}")
    for note in comparison.notes:
        _say(console, f"note: {note}")


def _compared(row: Mapping[Any, Any], sweep: Mapping[str, Any]) -> list[str]:
    return [
        escape(label(config_of(row, sweep), sweep)),
        row["stage"],
        f"{row['runs_first']}, {row['runs_second']}",
        *(shown("", row[f"speed_{side}"]) for side in ("first", "second")),
        f"{row['ratio']:.3f}",
        "" if pd.isna(row["own"]) else f"{row['own']:.3f}",
        "" if pd.isna(row["own"]) else f"{row['own_low']:.3f} to {row['own_high']:.3f}",
        "" if pd.isna(row["p_value"]) else f"{row['p_value']:.2g}",
        verdict(row),
    ]


def verdict(row: Mapping[Any, Any]) -> str:
    """What may be said of a row of a comparison: of the config, apart from the two sessions."""
    if min(row["runs_first"], row["runs_second"]) < 2:
        return "one run"
    if pd.isna(row["own"]):
        return "no other config"
    if pd.isna(row["p_value"]):
        return "none shown"
    if not row["different"]:
        return "none shown"
    return "faster" if row["own"] > 1 else "slower"


def _table(title: str) -> Table:
    return Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)


def _console() -> Console:
    """Standard output; a file has no width, and is given one that tables fit in."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_OF_FILES)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
