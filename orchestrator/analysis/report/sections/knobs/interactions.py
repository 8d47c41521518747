"""Two knobs together: what changing both brings beyond what each brings alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.comparable import ALL
from orchestrator.analysis.knobs.effects import Verdict, knob_interactions
from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.report.sections.knobs.outcomes import (
    ALIKE,
    OPEN,
    effect_cell,
    ends_text,
    legend_of,
    outcome_of,
)
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.tables import Cell, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import short
from orchestrator.formats import counted

MAX_ROWS: Final = 12
MAX_PAIRS: Final = 4
MAX_UNTRIED: Final = 12

_HOW: Final = (
    "from complete blocks alone: four configs that differ in the two knobs and in nothing else",
    "a factor of 1.10 on a speed: both changes together bring 1.10 times what the product of their "
    "own factors says; 1, or 0 points: neither changes what the other does",
    "verdicts hold for all rows together at 95 % (Holm's method), also those not shown",
)


def interactions_of(view: View) -> Section | None:
    """Return the section on pairs of knobs; None where fewer than two knobs varied."""
    table = knob_interactions(view.tables)
    table = table[table["group"].isin([view.tables.main_group, ALL])]
    if table.empty:
        return None
    tried = table[table["num_blocks"] > 0]
    rows = _first(tried[tried["verdict"].isin([Verdict.HIGHER, Verdict.LOWER])])
    missing, notes = _undecided(tried, view), list[str]()
    shown = rows.head(MAX_ROWS)
    if len(shown):
        missing, notes = "", [missing] if missing else []
        if len(rows) > len(shown):
            more = counted(len(rows) - len(shown), "smaller one")
            notes.insert(0, f"{more}: an.interactions(run) has them all")
    return Section(
        name="interactions",
        title="knobs together",
        missing=missing,
        lines=_dependences(rows),
        table=_table(shown, view) if len(shown) else None,
        notes=(*legend_of(shown), *notes),
        folded=tuple(_folds(table, is_shown=len(shown) > 0)),
    )


def _dependences(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return what depends on what: "what lr does to val_acc depends on batch_size"."""
    pairs = rows.drop_duplicates(["knob_a", "knob_b", "metric"]).to_dict("records")
    texts = [
        f"what {row['knob_a']} does to {row['metric']} depends on {row['knob_b']}" for row in pairs
    ]
    more = [f"and so for {counted(len(texts) - MAX_PAIRS, 'other pair')} of knobs"]
    return ("; ".join(texts[:MAX_PAIRS] + more * (len(texts) > MAX_PAIRS)),) if texts else ()


def _first(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the largest effect of each two knobs and figure first."""
    effects = rows["effect"].astype("float64")
    ratios = effects.where(rows["kind"] == Kind.RATIO).map(math.log)
    size = ratios.fillna(effects).abs()
    return rows.assign(size=size).sort_values(["metric", "size"], ascending=False, kind="stable")


def _table(rows: pd.DataFrame, view: View) -> Table:
    cells = tuple(
        (
            Cell(text=change_text(row, "a")),
            Cell(text=change_text(row, "b")),
            Cell(text=row["metric"]),
            effect_cell(row),
            Cell(text=ends_text(row["kind"], row["metric"], row["low"], row["high"])),
            Cell(text=f"{row['num_blocks']:,}", number=float(row["num_blocks"])),
            Cell(text=_word(row, view)),
        )
        for row in rows.to_dict("records")
    )
    return Table(
        head=("knob", "with", "of", "beyond the two alone", "95 % interval", "blocks", "verdict"),
        rows=cells,
        marks=("",) * len(cells),
    )


def change_text(row: Mapping[Any, Any], end: str) -> str:
    """Return ``batch_size 1000 → 4000`` of a row's knob ``a`` or ``b``."""
    reference, value = (short(row[f"{word}_{end}"]) for word in ("reference", "value"))
    return f"{row[f'knob_{end}']} {reference} → {value}"


def _word(row: Mapping[Any, Any], view: View) -> str:
    outcome = outcome_of(row, view.rule)
    is_better = outcome.symbol == "▲"
    return f"{outcome.symbol} {'better' if is_better else 'worse'} than the two put together"


def _undecided(tried: pd.DataFrame, view: View) -> str:
    """Return how many joint effects are none within the margin, and how many are open."""
    rows = tried[~tried["verdict"].isin([Verdict.HIGHER, Verdict.LOWER])]
    outcomes = [outcome_of(row, view.rule) for row in rows.to_dict("records")]
    alike, still_open = outcomes.count(ALIKE), outcomes.count(OPEN)
    parts = [
        f"for {counted(alike, 'combination')} it is shown that neither changes what the other does"
        if alike
        else "",
        f"for {counted(still_open, 'combination')} that is not decided" if still_open else "",
    ]
    known = "; ".join(part for part in parts if part)
    return known or ("" if len(tried) else "no two knobs were changed together in a complete block")


def _folds(table: pd.DataFrame, *, is_shown: bool) -> list[tuple[str, tuple[str, ...]]]:
    folds: list[tuple[str, tuple[str, ...]]] = [("how these are made", _HOW)] if is_shown else []
    untried = table[table["verdict"] == Verdict.NO_BLOCK].drop_duplicates(["knob_a", "knob_b"])
    if len(untried):
        names = [
            f"of {row['knob_a']} with {row['knob_b']} {row['to_try']} would tell"
            for row in untried.to_dict("records")
        ]
        more = len(names) - MAX_UNTRIED
        lines = names[:MAX_UNTRIED] + [f"and {counted(more, 'other pair')} of knobs"] * (more > 0)
        title = f"not tried together: {counted(len(names), 'pair')} of knobs"
        folds.append((title, tuple(lines)))
    return folds
