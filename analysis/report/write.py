"""What the analysis leaves in a run directory, each file written beside and renamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from analysis.recommendation.front import FRONT_FILE, front_table
from analysis.recommendation.recommend import Recommendation, recommend
from analysis.report import report_html, view_of
from analysis.report.plot import write_front_png
from analysis.tables.load import load, load_curves, load_sweep
from orchestrator.storage.run_directory import replace_file

RECOMMENDED_FILE: Final = "recommended.json"
REPORT_FILE: Final = "report.html"
PLOT_FILE: Final = "front.png"


def write_all(run_dir: Path) -> Recommendation:
    """Writes ``front.csv``, ``recommended.json``, ``report.html`` and ``front.png``.

    Returns:
        What is recommended.

    Raises:
        RunDirectoryError: The tables cannot be read.
        OSError: The directory cannot be written.
        SweepError: The sweep's objectives state no rule to recommend by.
    """
    sweep, trials, curves = load_sweep(run_dir), load(run_dir), load_curves(run_dir)
    recommendation = recommend(trials, sweep)
    view = view_of(trials, curves, sweep, recommendation)
    front = front_table(trials, sweep)
    said = json.dumps(recommendation.to_json(), indent=2, allow_nan=False) + "\n"
    page = report_html(view)
    replace_file(run_dir / FRONT_FILE, lambda path: front.to_csv(path, index=False))
    replace_file(run_dir / RECOMMENDED_FILE, lambda path: path.write_text(said, encoding="utf-8"))
    replace_file(run_dir / REPORT_FILE, lambda path: path.write_text(page, encoding="utf-8"))
    replace_file(run_dir / PLOT_FILE, lambda path: write_front_png(view, path))
    return recommendation
