"""Interactions of two knobs, from complete 2 x 2 blocks of configs that differ in the two alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.knobs.effects import MAX_VALUES, Verdict, cells_of, table_of, with_verdicts
from analysis.knobs.figures import Figures
from analysis.knobs.of_run import figures_by_role
from analysis.statistics.matched_pairs import Rows
from analysis.tables.run_tables import RunTables
from orchestrator.space.configs import format_setting

NOT_TRIED: Final = "not tried together"
LOST: Final = "did not run together"

_VALUES: Final = ("reference_a", "value_a", "reference_b", "value_b")
COLUMNS: Final = (
    "knob_a", "knob_b", *_VALUES, "metric", "kind", "effect", "low", "high", "p", "verdict",
    "num_blocks", "smallest", "largest", "basis", "composed", "to_try", "group",
)  # fmt: skip


def knob_interactions(tables: RunTables, on: str | None = None) -> pd.DataFrame:
    """Return the interaction of each two knobs.

    Args:
        tables: The run.
        on: The figure. None: the speed for two knobs that change it by their roles, and the
            accuracy for two that change that.

    Returns:
        See :func:`interactions_in`.
    """
    return interactions_in(figures_by_role(tables, on, with_lost=True))


def interactions_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the interaction of each two knobs on each figure.

    Args:
        asked: The figures.

    Returns:
        A row two knobs, a value of each beside its reference, figure and group. ``effect`` is the
        mean over the blocks of a ratio of ratios: what changing both brings, over the product of
        what each brings alone (``kind`` ``ratio``), or of a difference of differences. 1, or 0:
        the two do not change each other's effect. The other columns as
        :func:`~analysis.knobs.effects.effects_in` has them. Two knobs without a block have one row
        with the ``--set`` options of the configs that are missing, as ``to_try``.
    """
    rows = [row for figures in asked for row in _rows(figures)]
    table = with_verdicts(table_of(rows, COLUMNS, as_they_are=_VALUES), "num_blocks")
    return table.assign(to_try=table["to_try"].fillna(""))


def _rows(figures: Figures) -> Iterator[dict[str, Any]]:
    same = {"metric": figures.metric, "kind": str(figures.kind), "group": figures.group}

    @cache
    def partners(knob: str, code: int) -> Rows:
        return figures.partners(np.arange(len(figures.points)), knob, code).astype(np.int32)

    for one, other in combinations(figures.knobs, 2):
        pair = same | {"knob_a": one, "knob_b": other}
        block = _reference_rows(figures, one, other)
        found, missing = False, dict[str, Any]()
        for first, second in product(_others(figures, one), _others(figures, other)):
            sides = partners(one, first)[block], partners(other, second)[block]
            both = np.where(sides[0] >= 0, partners(other, second)[sides[0]], -1)
            whole = (sides[1] >= 0) & (both >= 0)
            corners = [some[whole] for some in (block, *sides, both)]
            mean = figures.mean(corners, (1, -1, -1, 1))
            if mean is None and whole.any():
                missing = {"verdict": str(Verdict.SAME_RUNS), "composed": True}
            elif mean is not None:
                found = True
                codes = {"a": (one, first), "b": (other, second)}
                yield pair | _values(figures, codes) | cells_of(mean) | {"num_blocks": mean.num}
        if not found:
            nothing = {"num_blocks": 0, "p": math.nan, "composed": False}
            yield pair | nothing | (missing or _missing(figures, one, other))


def _reference_rows(figures: Figures, one: str, other: str) -> Rows:
    codes = figures.points.codes
    rows = figures.known & (codes[one] == figures.reference(one))
    return np.flatnonzero(rows & (codes[other] == figures.reference(other)))


def _others(figures: Figures, knob: str) -> list[int]:
    """Return the codes of the values beside the reference, the most frequent of very many."""
    counts = np.bincount(figures.points.codes[knob][figures.known], minlength=1)
    counts[figures.reference(knob)] = 0
    most = np.argsort(-counts, kind="stable")[:MAX_VALUES]
    return sorted(int(code) for code in most if counts[code])


def _values(figures: Figures, codes: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    cells = {}
    for end, (knob, code) in codes.items():
        values = figures.points.values[knob]
        cells[f"reference_{end}"] = values[figures.reference(knob)]
        cells[f"value_{end}"] = values[code]
    return cells


def _missing(figures: Figures, one: str, other: str) -> dict[str, Any]:
    """Return the cells of two knobs without a block: the configs that would make one.

    Of the baseline's row where it has one, else of the row that lacks the fewest. The values are
    those with the best figures alone.
    """
    best: tuple[tuple[float, ...], dict[str, Any]] | None = None
    lost = False
    for row in _starts(figures, one, other):
        for first, second in product(_others(figures, one), _others(figures, other)):
            corners = [{one: first}, {other: second}, {one: first, other: second}]
            rows = [int(figures.points.changed(np.array([row]), c)[0]) for c in corners]
            if any(at >= 0 and not figures.known[at] for at in rows):
                lost = True
                continue
            gains = [figures.sign * figures.levels[at] for at in rows if at >= 0]
            score = (-rows.count(-1), float(np.sum(gains)))
            if best is None or score > best[0]:
                texts = [
                    _options(figures, row, c) for c, at in zip(corners, rows, strict=True) if at < 0
                ]
                codes = {"a": (one, first), "b": (other, second)}
                best = score, _values(figures, codes) | {"to_try": " and ".join(texts)}
    if best is None:
        return {"verdict": LOST if lost else NOT_TRIED}
    return best[1] | {"verdict": NOT_TRIED}


def _starts(figures: Figures, one: str, other: str) -> list[int]:
    """Return the row that a block is looked for from: the baseline, or one with both partners."""
    rows = _reference_rows(figures, one, other)
    is_baseline = np.ones(len(rows), dtype=np.bool_)
    for name, codes in figures.points.codes.items():
        is_baseline &= codes[rows] == figures.code(name, figures.baseline.get(name))
    if is_baseline.any():
        return [int(rows[is_baseline][0])]
    num_partners = np.zeros(len(rows), dtype=np.int64)
    for knob in (one, other):
        for code in _others(figures, knob):
            num_partners += figures.partners(rows, knob, code) >= 0
    return [int(rows[num_partners.argmax()])] if len(rows) else []


def _options(figures: Figures, row: int, changes: Mapping[str, int]) -> str:
    """Return the ``--set`` options of a config: those that differ from the baseline."""
    points, baseline = figures.points, figures.baseline
    codes = {name: int(points.codes[name][row]) for name in points.codes} | dict(changes)
    return " ".join(
        f"--set {format_setting(name, points.values[name][code])}"
        for name, code in codes.items()
        if name in changes or (name in baseline and figures.code(name, baseline[name]) != code)
    )
