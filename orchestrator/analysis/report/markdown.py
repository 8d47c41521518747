"""The answer in Markdown, ``answer.md``: MLflow's note, or a comment on a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from orchestrator.analysis.findings.reasons import why_no_front
from orchestrator.analysis.report.sections.front import front_table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import as_sentence
from orchestrator.formats import counted

MAX_ROWS: Final = 5
"""Rows of the front: those nearest to the recommended config."""
MAX_NOTES: Final = 6


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
        return f"The front is empty: {why_no_front(view.tables)}."
    own = rows.loc[rows["is_recommended"], speed].head(1).sum()
    near = (front - own).abs().nsmallest(MAX_ROWS).index
    marked = rows["is_recommended"] | rows["is_baseline"]
    table = front_table(view, rows[rows.index.isin(near) | marked])
    lines = [_line(table.head), f"|{' --- |' * len(table.head)}"]
    lines += [_line(cell.text for cell in row) for row in table.rows]
    if len(near) < len(front):
        lines.append(f"\nOf the {len(front)} configs of the front; all are in `front.csv`.")
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    # MLflow's page leaves no space between the columns of a table; this space is not collapsed.
    padded = (f"\N{NO-BREAK SPACE}{cell.replace('|', '/')}\N{NO-BREAK SPACE}" for cell in cells)
    return f"| {' | '.join(padded)} |"
