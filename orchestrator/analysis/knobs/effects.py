"""Effects of the knobs: of each by matched pairs, of two together by complete 2 x 2 blocks.

The configs of a pair differ in the knob alone, those of a block in the two knobs alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.statistics.intervals import CONFIDENCE
from orchestrator.analysis.statistics.matched_pairs import Rows, holm
from orchestrator.space.configs import format_setting

MAX_VALUES: Final = 10
"""With more values than this, each value of a knob is compared with the baseline's alone."""

_CELLS: Final = ("metric", "kind", "effect", "low", "high", "p", "verdict")
_MORE: Final = ("smallest", "largest", "basis", "composed", "contaminated", "group")
_NOTHING: Final[dict[str, Any]] = {"p": math.nan, "composed": False, "contaminated": False}
"""Cells of a row without a pair or a block."""


class Verdict(StrEnum):
    """Result of matched pairs for a figure, corrected for all rows that are shown."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal in every pair"
    OPEN = "not decided"
    NO_PAIR = "no pair"
    NO_BLOCK = "not tried together"
    SAME_RUNS = "of the same runs"
    """Composed figures that the knob does not change, by its role: nothing was measured."""


def effects_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the table of :func:`orchestrator.analysis.effects` for some figures."""
    rows = [
        row
        for figures in asked
        for knob in figures.knobs
        for row in _found(
            figures, {"knob": knob}, _pairs(figures, knob), "num_pairs", Verdict.NO_PAIR
        )
    ]
    return _table_of(rows, ("knob",), ("reference", "value"), "num_pairs")


def interactions_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the table of :func:`orchestrator.analysis.interactions` for some figures."""
    rows = [row for figures in asked for row in _block_rows(figures)]
    values = ("reference_a", "value_a", "reference_b", "value_b")
    table = _table_of(rows, ("knob_a", "knob_b"), values, "num_blocks")
    return table.assign(to_try=pd.Series([row.get("to_try", "") for row in rows], dtype="object"))


def _table_of(
    rows: Sequence[Mapping[str, Any]], knobs: Sequence[str], values: Sequence[str], number: str
) -> pd.DataFrame:
    """Return the table of rows, with ``p`` corrected by Holm's method and the ``verdict``."""
    table = pd.DataFrame(rows, columns=[*knobs, *values, *_CELLS, number, *_MORE])
    cells = {name: [row.get(name) for row in rows] for name in values}
    table = table.assign(**{name: pd.Series(each, dtype="object") for name, each in cells.items()})
    nothing = table["kind"].map({"ratio": 1.0, "difference": 0.0})
    p = pd.Series(holm(table["p"].to_numpy(dtype=np.float64)), index=table.index)
    shown = p < 1 - CONFIDENCE
    verdicts = pd.Series(str(Verdict.OPEN), index=table.index)
    verdicts[shown & (table["effect"] > nothing)] = str(Verdict.HIGHER)
    verdicts[shown & (table["effect"] < nothing)] = str(Verdict.LOWER)
    equal = (table["smallest"] == nothing) & (table["largest"] == nothing) & (table[number] > 1)
    verdicts[equal] = str(Verdict.EQUAL)
    return table.assign(p=p, verdict=verdicts.where(table[number] > 0, table["verdict"]))


Comparison = tuple[dict[str, Any], Sequence[Rows], Sequence[int]]
"""Values that differ, the rows of the configs of each corner, and the sign of each corner."""


def _found(
    figures: Figures,
    knobs: Mapping[str, str],
    comparisons: Iterable[Comparison],
    number: str,
    nothing: Verdict,
) -> Iterator[dict[str, Any]]:
    """Yield a row a comparison that has configs; if there is none, one row that states it."""
    same: dict[str, Any] = {
        "metric": figures.metric,
        "kind": str(figures.kind),
        "group": figures.group,
        **knobs,
    }
    found, verdict = False, nothing
    for values, corners, signs in comparisons:
        mean = figures.mean(corners, signs)
        if mean is not None:
            found = True
            cells = asdict(mean)
            cells |= {"basis": str(mean.basis), number: cells.pop("num")}
            yield same | values | cells
        elif len(corners[0]):
            verdict = Verdict.SAME_RUNS
    if not found:
        is_composed = verdict is Verdict.SAME_RUNS
        yield same | _NOTHING | {number: 0, "verdict": str(verdict), "composed": is_composed}


def _pairs(figures: Figures, knob: str) -> Iterator[Comparison]:
    values, codes = figures.points.values[knob], figures.points.codes[knob]
    for reference, code in _pairs_of_values(figures, knob):
        rows = np.flatnonzero((codes == reference) & figures.known)
        partners = figures.partners(rows, knob, code)
        corners = [rows[partners >= 0], partners[partners >= 0]]
        yield {"reference": values[reference], "value": values[code]}, corners, (-1, 1)


def _pairs_of_values(figures: Figures, knob: str) -> list[tuple[int, int]]:
    reference = figures.references[knob]
    others = [code for code in range(len(figures.points.values[knob])) if code != reference]
    pairs = [(reference, code) for code in others]
    return pairs if len(others) >= MAX_VALUES else [*pairs, *combinations(others, 2)]


def _block_rows(figures: Figures) -> Iterator[dict[str, Any]]:
    partners = {
        (knob, code): _partners(figures, knob, code)
        for knob in figures.knobs
        for code in _others(figures, knob)
    }
    for one, other in combinations(figures.knobs, 2):
        knobs, blocks = {"knob_a": one, "knob_b": other}, _blocks(figures, one, other, partners)
        for row in _found(figures, knobs, blocks, "num_blocks", Verdict.NO_BLOCK):
            if row.get("verdict") == Verdict.NO_BLOCK:
                row["to_try"] = " ".join(
                    f"--set {format_setting(knob, figures.points.values[knob][code])}"
                    for knob in (one, other)
                    for code in _others(figures, knob)[:1]
                )
            yield row


def _others(figures: Figures, knob: str) -> list[int]:
    """Return the codes of a knob's values but the reference, the most frequent of very many."""
    counts = np.bincount(figures.points.codes[knob][figures.known])
    counts[figures.references[knob]] = 0
    most = np.argsort(-counts, kind="stable")[:MAX_VALUES]
    return sorted(int(code) for code in most if counts[code])


def _partners(figures: Figures, knob: str, code: int) -> npt.NDArray[np.int32]:
    """Return the row of each config at the reference with another value; -1 if there is none."""
    partners = np.full(len(figures.points), -1, dtype=np.int32)
    reference = figures.references[knob]
    rows = np.flatnonzero(figures.known & (figures.points.codes[knob] == reference))
    partners[rows] = figures.partners(rows, knob, code)
    return partners


def _blocks(
    figures: Figures,
    one: str,
    other: str,
    partners: Mapping[tuple[str, int], npt.NDArray[np.int32]],
) -> Iterator[Comparison]:
    """Yield the complete blocks of two knobs, by their corners: none, one, other, both changed."""
    values, references = figures.points.values, figures.references
    for first, second in product(_others(figures, one), _others(figures, other)):
        ones, others = partners[one, first], partners[other, second]
        start = np.flatnonzero((ones >= 0) & (others >= 0))
        both = others[ones[start]]
        start, both = start[both >= 0], both[both >= 0]
        corners = [start, *(rows.astype(np.intp) for rows in (ones[start], others[start], both))]
        ends = {
            "reference_a": values[one][references[one]],
            "value_a": values[one][first],
            "reference_b": values[other][references[other]],
            "value_b": values[other][second],
        }
        yield ends, corners, (1, -1, -1, 1)
