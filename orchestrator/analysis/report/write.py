"""Files that the analysis leaves in a run directory, each written beside and renamed."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator.analysis.findings.content import recommended_json
from orchestrator.analysis.findings.findings import Findings, findings
from orchestrator.analysis.recommendation.front import composed_table, front_table
from orchestrator.analysis.report.figures import write_tables
from orchestrator.analysis.report.markdown import answer_markdown
from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.plot import front_picture
from orchestrator.analysis.report.view import View, view_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.storage.files import RunFile
from orchestrator.storage.replacing import replace_file


def write_all(tables: RunTables, run_dir: Path) -> Findings:
    """Write ``front.csv``, ``recommended.json``, ``report.html``, ``front.svg`` and ``figures/``.

    ``answer.md`` as well. Of a factored search ``composed.parquet`` and ``composed.csv`` as well.

    Returns:
        What the run shows.

    Raises:
        OSError: The directory cannot be written.
        SweepError: The sweep's objectives state no rule to recommend by.
    """
    found = findings(tables)
    view = view_of(tables, found, run_dir)
    front = front_table(tables)
    content = recommended_json(found, tables.key)
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    replace_file(run_dir / RunFile.FRONT, lambda path: front.to_csv(path, index=False))
    replace_file(
        run_dir / RunFile.RECOMMENDED, lambda path: path.write_text(text, encoding="utf-8")
    )
    answer = answer_markdown(tables, found)
    replace_file(run_dir / RunFile.ANSWER, lambda path: path.write_text(answer, encoding="utf-8"))
    write_page(view, run_dir)
    if tables.is_composed:
        composed = composed_table(tables)
        replace_file(
            run_dir / RunFile.COMPOSED, lambda path: composed.to_parquet(path, index=False)
        )
        replace_file(
            run_dir / RunFile.COMPOSED_TEXT, lambda path: composed.to_csv(path, index=False)
        )
    return found


def write_page(view: View, run_dir: Path) -> None:
    """Write ``report.html``, the tables of its figures and ``front.svg``."""
    report = report_of(view)
    picture = front_picture(report.pictures, f"{view.sweep.name} on {view.sweep.data}")
    replace_file(
        run_dir / RunFile.REPORT, lambda path: path.write_text(report.html, encoding="utf-8")
    )
    write_tables(report.tables, run_dir)
    replace_file(
        run_dir / RunFile.FRONT_PLOT, lambda path: path.write_text(picture, encoding="utf-8")
    )
