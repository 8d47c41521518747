"""What the analysis leaves in a run directory, each file written beside and renamed."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.recommendation.front import front_table
from analysis.recommendation.recommend import Recommendation, recommend
from analysis.report import report_html, view_of
from analysis.report.plot import write_front_png
from analysis.tables.load import load_run
from orchestrator.storage.files import RunFile
from orchestrator.storage.run_directory import replace_file


def write_all(run_dir: Path) -> Recommendation:
    """Writes ``front.csv``, ``recommended.json``, ``report.html`` and ``front.png``.

    Returns:
        What is recommended.

    Raises:
        RunDirectoryError: The tables cannot be read.
        OSError: The directory cannot be written.
        SweepError: The sweep's objectives state no rule to recommend by.
    """
    tables = load_run(run_dir)
    recommendation = recommend(tables)
    view = view_of(tables, recommendation)
    front = front_table(tables)
    said = json.dumps(recommendation.to_json(), indent=2, allow_nan=False) + "\n"
    page = report_html(view)
    replace_file(run_dir / RunFile.FRONT, lambda path: front.to_csv(path, index=False))
    replace_file(
        run_dir / RunFile.RECOMMENDED, lambda path: path.write_text(said, encoding="utf-8")
    )
    replace_file(run_dir / RunFile.REPORT, lambda path: path.write_text(page, encoding="utf-8"))
    replace_file(run_dir / RunFile.FRONT_PLOT, lambda path: write_front_png(view, path))
    return recommendation
