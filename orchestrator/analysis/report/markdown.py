"""The answer in Markdown, ``answer.md``: MLflow's note, or a comment on a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import configs_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.findings.reasons import why_no_front
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import as_sentence, counted, interval_text, short, shown
from orchestrator.space.configs import format_value
from orchestrator.trial import Stage

MAX_ROWS: Final = 5
"""Rows of the front: those nearest to the recommended config."""
MAX_NOTES: Final = 6


def answer_markdown(tables: RunTables, found: Findings) -> str:
    """Return the answer's sentence, the front around the recommended config, and the notes.

    Args:
        tables: The run.
        found: Its findings.
    """
    parts = [f"**{found.sentence}.**"]
    if tables.sweep.data_note:
        parts.append(f"**Data:** {tables.sweep.data_note.partition('. To get')[0]}.")
    parts.append(_table(tables, found))
    said = list(dict.fromkeys(filter(None, (found.why_not_known, *found.notes))))
    lines = [f"- {as_sentence(note, tables.sweep.knobs)}." for note in said[:MAX_NOTES]]
    if len(said) > MAX_NOTES:
        lines.append(f"- {counted(len(said) - MAX_NOTES, 'more note')} in the report.")
    if lines:
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _table(tables: RunTables, found: Findings) -> str:
    """Return the recommended config, the baseline, and the front around the recommended one."""
    ranked = tables.ranked
    ranked = ranked[ranked[GROUP] == tables.main_group]
    front = ranked[ranked["on_front"]].sort_values(
        tables.rule.speed_column, ascending=tables.rule.speed.sign < 0, kind="stable"
    )
    if front.empty:
        return f"The front is empty: {why_no_front(tables)}."
    named = {
        name: ranked[rows_of(ranked, one)].head(1)
        for name, one in (("**recommended**", found.config), ("baseline", tables.sweep.baseline))
        if one is not None
    }
    near = _around(front, named.get("**recommended**"), tables)
    rows = pd.concat([*named.values(), near])
    rows = rows[~rows.index.duplicated()]
    marks = [_mark(index, row, named) for index, row in rows.iterrows()]
    table = "\n".join(_lines(rows, marks, tables))
    captions = []
    if len(near) < len(front):
        captions.append(f"Of the {len(front)} configs of the front; all are in `front.csv`.")
    if found.measured_in is Stage.CONFIRM:
        captions.append("The figures are of the searching runs, the sentence is of confirm runs.")
    return "\n\n".join([table, " ".join(captions)] if captions else [table])


def _around(
    front: pd.DataFrame, recommended: pd.DataFrame | None, tables: RunTables
) -> pd.DataFrame:
    """Return the rows of the front that are nearest to the recommended config's in speed."""
    if recommended is None or recommended.empty:
        return front.head(MAX_ROWS)
    column = tables.rule.speed_column
    faster = front[column] * tables.rule.speed.sign > (
        recommended[column].iloc[0] * tables.rule.speed.sign
    )
    start = max(0, min(int(faster.sum()) - MAX_ROWS // 2, len(front) - MAX_ROWS))
    return front.iloc[start : start + MAX_ROWS]


def _lines(rows: pd.DataFrame, marks: list[str], tables: RunTables) -> Iterator[str]:
    rule, knobs = tables.rule, _telling(rows, tables)
    named = dict.fromkeys(o.metric for o in (rule.speed, *rule.objectives, rule.accuracy))
    metrics = [name for name in named if f"metrics.{name}" in rows.columns]
    yield _line(["", *knobs, *metrics])
    yield f"|{' --- |' * (1 + len(knobs))}{' ---: |' * len(metrics)}"
    for mark, row in zip(marks, rows.to_dict("records"), strict=True):
        values = [short(row[f"params.{name}"]) for name in knobs]
        yield _line([mark, *values, *(_figure(name, row) for name in metrics)])


def _telling(rows: pd.DataFrame, tables: RunTables) -> list[str]:
    """Return the knobs that differ between the rows, or from the baseline."""
    baseline = tables.sweep.baseline
    configs = [*configs_of(rows, tables.sweep), baseline]
    return [
        name
        for name in tables.sweep.knobs
        if f"params.{name}" in rows.columns
        and len({format_value(config[name]) for config in configs if name in config}) > 1
    ]


def _mark(index: object, row: pd.Series[Any], named: Mapping[str, pd.DataFrame]) -> str:
    words = [name for name, rows in named.items() if index in rows.index]
    words += ["front"] * bool(row["on_front"]) + ["composed"] * bool(row[COMPOSED])
    return ", ".join(words)


def _figure(metric: str, row: Mapping[Any, Any]) -> str:
    text, ends = shown(metric, row[f"metrics.{metric}"]), interval_text(row, metric)
    return f"{text} ({ends})" if ends else text


def _line(cells: Iterable[str]) -> str:
    # MLflow's page leaves no space between the columns of a table; this space is not collapsed.
    padded = (f"\N{NO-BREAK SPACE}{cell.replace('|', '/')}\N{NO-BREAK SPACE}" for cell in cells)
    return f"| {' | '.join(padded)} |"
