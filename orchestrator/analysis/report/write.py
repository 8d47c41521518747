"""Files that the analysis writes in a run directory, each to a temporary file that is renamed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from orchestrator.analysis.findings.findings import Findings, findings, recommended_json
from orchestrator.analysis.recommendation.front import composed_table, front_table
from orchestrator.analysis.report.drawing import write_tables
from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.plot import front_picture
from orchestrator.analysis.report.sections.front import front_table as table_of_front
from orchestrator.analysis.report.view import View, view_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import as_sentence
from orchestrator.formats import counted
from orchestrator.storage.files import RunFile, replace_file

MAX_ROWS: Final = 5
"""Rows of the front in ``answer.md``: those nearest to the recommended config."""
MAX_NOTES: Final = 6


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
    content = recommended_json(found)
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


def answer_markdown(view: View) -> str:
    """Return the answer's sentence, the front around the recommended config, and the notes."""
    found, sweep = view.findings, view.sweep
    said = list(dict.fromkeys(filter(None, (found.why_not_known, *found.notes))))
    lines = [f"- {as_sentence(note, sweep.knobs)}." for note in said[:MAX_NOTES]]
    if len(said) > MAX_NOTES:
        lines.append(f"- {counted(len(said) - MAX_NOTES, 'more note')} in the report.")
    parts = (
        f"**{found.sentence}.**",
        f"**Data:** {sweep.data_note.partition('. To get')[0]}." if sweep.data_note else "",
        _table(view),
        "\n".join(lines),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(view: View) -> str:
    """Return the page's table of the front: recommended config, baseline, the nearest ones."""
    rows, speed = view.shown, view.rule.speed_column
    front = rows.loc[rows["on_front"], speed]
    if front.empty:
        return "The front is empty."
    own = rows.loc[rows["is_recommended"], speed].head(1).sum()
    near = (front - own).abs().nsmallest(MAX_ROWS).index
    marked = rows["is_recommended"] | rows["is_baseline"]
    table = table_of_front(view, rows[rows.index.isin(near) | marked])
    lines = [_line(table.head), f"|{' --- |' * len(table.head)}"]
    lines += [_line(cell.text for cell in row) for row in table.rows]
    if len(near) < len(front):
        lines.append(f"\nOf the {len(front)} configs of the front; all are in `front.csv`.")
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    # MLflow's page leaves no space between the columns of a table; this space is not collapsed.
    padded = (f"\N{NO-BREAK SPACE}{cell.replace('|', '/')}\N{NO-BREAK SPACE}" for cell in cells)
    return f"| {' | '.join(padded)} |"
