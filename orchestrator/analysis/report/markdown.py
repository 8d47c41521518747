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
from orchestrator.analysis.wording import as_sentence, interval_text, short, shown
from orchestrator.formats import counted
from orchestrator.trial import Stage

MAX_ROWS: Final = 5
"""Rows of the front: those nearest to the recommended config."""
MAX_NOTES: Final = 6
_RECOMMENDED: Final = "**recommended**"


def answer_markdown(tables: RunTables, found: Findings) -> str:
    """Return the answer's sentence, the front around the recommended config, and the notes.

    Args:
        tables: The run.
        found: Its findings.
    """
    sweep = tables.sweep
    said = list(dict.fromkeys(filter(None, (found.why_not_known, *found.notes))))
    lines = [f"- {as_sentence(note, sweep.knobs)}." for note in said[:MAX_NOTES]]
    if len(said) > MAX_NOTES:
        lines.append(f"- {counted(len(said) - MAX_NOTES, 'more note')} in the report.")
    parts = (
        f"**{found.sentence}.**",
        f"**Data:** {sweep.data_note.partition('. To get')[0]}." if sweep.data_note else "",
        _table(tables, found),
        "\n".join(lines),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(tables: RunTables, found: Findings) -> str:
    """Return the recommended config, the baseline, and the front around the recommended one."""
    speed = tables.rule.speed_column
    ranked = tables.ranked
    ranked = ranked[ranked[GROUP] == tables.main_group]
    front = ranked[ranked["on_front"]].sort_values(
        speed, ascending=tables.rule.speed.sign < 0, kind="stable"
    )
    if front.empty:
        return f"The front is empty: {why_no_front(tables)}."
    named = {
        name: ranked[rows_of(ranked, one)].head(1)
        for name, one in ((_RECOMMENDED, found.config), ("baseline", tables.sweep.baseline))
        if one is not None
    }
    own = named.get(_RECOMMENDED, front)[speed].head(1)
    nearest = (front[speed] - own.sum()).abs().nsmallest(MAX_ROWS).index
    near = front[front.index.isin(nearest)]
    rows = pd.concat([*named.values(), near])
    rows = rows[~rows.index.duplicated()]
    captions = [
        f"Of the {len(front)} configs of the front; all are in `front.csv`."
        if len(near) < len(front)
        else "",
        "The figures are of the searching runs, the sentence is of confirm runs."
        if found.measured_in is Stage.CONFIRM
        else "",
    ]
    parts = ["\n".join(_lines(rows, named, tables)), " ".join(filter(None, captions))]
    return "\n\n".join(filter(None, parts))


def _lines(
    rows: pd.DataFrame, named: Mapping[str, pd.DataFrame], tables: RunTables
) -> Iterator[str]:
    rule, configs = tables.rule, [*configs_of(rows, tables.sweep), tables.sweep.baseline]
    knobs = [
        name
        for name in tables.sweep.knobs
        if f"params.{name}" in rows.columns
        and len({short(config[name]) for config in configs if name in config}) > 1
    ]
    objectives = dict.fromkeys(o.metric for o in (rule.speed, *rule.objectives, rule.accuracy))
    metrics = [name for name in objectives if f"metrics.{name}" in rows.columns]
    yield _line(["", *knobs, *metrics])
    yield f"|{' --- |' * (1 + len(knobs))}{' ---: |' * len(metrics)}"
    for index, row in rows.to_dict("index").items():
        words = [name for name, some in named.items() if index in some.index]
        words += ["front"] * bool(row["on_front"]) + ["composed"] * bool(row[COMPOSED])
        values = [short(row[f"params.{name}"]) for name in knobs]
        yield _line([", ".join(words), *values, *(_figure(name, row) for name in metrics)])


def _figure(metric: str, row: Mapping[Any, Any]) -> str:
    text, ends = shown(metric, row[f"metrics.{metric}"]), interval_text(row, metric)
    return f"{text} ({ends})" if ends else text


def _line(cells: Iterable[str]) -> str:
    # MLflow's page leaves no space between the columns of a table; this space is not collapsed.
    padded = (f"\N{NO-BREAK SPACE}{cell.replace('|', '/')}\N{NO-BREAK SPACE}" for cell in cells)
    return f"| {' | '.join(padded)} |"
