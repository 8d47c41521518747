"""What the analysis leaves in a run directory, each file written beside and renamed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from analysis.front import FRONT_FILE, front_table
from analysis.load import load, load_curves, load_sweep
from analysis.plot import write_front_png
from analysis.recommend import Recommendation, recommend
from analysis.report import report_html, view_of
from orchestrator.errors import RunDirectoryError

RECOMMENDED_FILE: Final = "recommended.json"
REPORT_FILE: Final = "report.html"
PLOT_FILE: Final = "front.png"


def write_all(run_dir: Path) -> Recommendation:
    """Writes ``front.csv``, ``recommended.json``, ``report.html`` and ``front.png``.

    Returns:
        What is recommended.

    Raises:
        RunDirectoryError: The tables cannot be read, or the directory not be written.
        SweepError: The sweep's objectives state no rule to recommend by.
    """
    sweep, trials, curves = load_sweep(run_dir), load(run_dir), load_curves(run_dir)
    recommendation = recommend(trials, sweep)
    view = view_of(trials, curves, sweep, recommendation)
    front = front_table(trials, sweep)
    said = json.dumps(recommendation.to_json(), indent=2, allow_nan=False) + "\n"
    page = report_html(view)
    _replace(run_dir / FRONT_FILE, lambda path: front.to_csv(path, index=False))
    _replace(run_dir / RECOMMENDED_FILE, lambda path: path.write_text(said, encoding="utf-8"))
    _replace(run_dir / REPORT_FILE, lambda path: path.write_text(page, encoding="utf-8"))
    _replace(run_dir / PLOT_FILE, lambda path: write_front_png(view, path))
    return recommendation


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """So that a reader never sees half a file."""
    beside = path.with_name(f".{path.name}.tmp")
    try:
        write(beside)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise RunDirectoryError(f"{path}: cannot be written: {error.strerror or error}") from None
