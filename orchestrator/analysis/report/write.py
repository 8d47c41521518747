"""Files that the analysis writes in a run directory, each to a temporary file that is renamed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from orchestrator.analysis.findings.content import recommended_json
from orchestrator.analysis.findings.findings import Findings, findings
from orchestrator.analysis.recommendation.front import composed_table, front_table
from orchestrator.analysis.report.drawing import write_tables
from orchestrator.analysis.report.markdown import answer_markdown
from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.plot import front_picture
from orchestrator.analysis.report.view import View, view_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.storage.files import RunFile, replace_file


def write_all(tables: RunTables, run_dir: Path) -> Findings:
    """Write ``front.csv``, ``recommended.json``, ``report.html``, ``front.svg`` and ``figures/``.

    ``answer.md`` as well, and ``composed.parquet`` and ``composed.csv`` for a factored search.

    Returns:
        The findings of the run.

    Raises:
        OSError: The directory cannot be written.
        SweepError: The sweep's objectives state no rule to recommend by.
    """
    found = findings(tables)
    view = view_of(tables, found, run_dir)
    content = recommended_json(found, tables.key)
    replace_file(run_dir / RunFile.FRONT, partial(front_table(tables).to_csv, index=False))
    _write(run_dir / RunFile.RECOMMENDED, json.dumps(content, indent=2, allow_nan=False) + "\n")
    _write(run_dir / RunFile.ANSWER, answer_markdown(view))
    write_page(view, run_dir)
    if tables.is_composed:
        composed = composed_table(tables)
        replace_file(run_dir / RunFile.COMPOSED, partial(composed.to_parquet, index=False))
        replace_file(run_dir / RunFile.COMPOSED_TEXT, partial(composed.to_csv, index=False))
    return found


def write_page(view: View, run_dir: Path) -> None:
    """Write ``report.html``, the tables of its figures and ``front.svg``."""
    report = report_of(view)
    _write(run_dir / RunFile.REPORT, report.html)
    write_tables(report.tables, run_dir)
    picture = front_picture(report.pictures, f"{view.sweep.name} on {view.sweep.data}")
    _write(run_dir / RunFile.FRONT_PLOT, picture)


def _write(path: Path, text: str) -> None:
    replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))
