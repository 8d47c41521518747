"""Effects of the knobs: of each by matched pairs, of two together by complete 2 x 2 blocks.

The configs of a pair differ in the knob alone, those of a block in the two knobs alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.knobs.figures import Figures, Mean
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
    rows = [row for figures in asked for row in _rows(figures)]
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


def _cells_of(mean: Mean, number: str) -> dict[str, Any]:
    cells = asdict(mean)
    return cells | {"basis": str(mean.basis), number: cells.pop("num")}


def _rows(figures: Figures) -> Iterator[dict[str, Any]]:
    for knob in figures.knobs:
        same = {"knob": knob, "metric": figures.metric, "kind": str(figures.kind),
                "group": figures.group}  # fmt: skip
        values, verdict = figures.points.values[knob], Verdict.NO_PAIR
        found = False
        for reference, code in _pairs_of_values(figures, knob):
            rows = np.flatnonzero((figures.points.codes[knob] == reference) & figures.known)
            partners = figures.partners(rows, knob, code)
            is_pair = partners >= 0
            mean = figures.mean([rows[is_pair], partners[is_pair]], (-1, 1))
            if mean is None and is_pair.any():
                verdict = Verdict.SAME_RUNS
            elif mean is not None:
                found = True
                ends = {"reference": values[reference], "value": values[code]}
                yield same | ends | _cells_of(mean, "num_pairs")
        if not found:
            is_composed = verdict is Verdict.SAME_RUNS
            yield (
                same | _NOTHING | {"num_pairs": 0, "verdict": str(verdict), "composed": is_composed}
            )


def _pairs_of_values(figures: Figures, knob: str) -> list[tuple[int, int]]:
    reference = figures.references[knob]
    others = [code for code in range(len(figures.points.values[knob])) if code != reference]
    pairs = [(reference, code) for code in others]
    return pairs if len(others) >= MAX_VALUES else [*pairs, *combinations(others, 2)]


def _block_rows(figures: Figures) -> Iterator[dict[str, Any]]:
    codes, values = figures.points.codes, figures.points.values
    at_reference = {
        knob: figures.known & (codes[knob] == figures.references[knob]) for knob in figures.knobs
    }
    partners = {
        (knob, code): _partners(figures, knob, code, at_reference[knob])
        for knob in figures.knobs
        for code in _others(figures, knob)
    }
    for one, other in combinations(figures.knobs, 2):
        same = {"metric": figures.metric, "kind": str(figures.kind), "group": figures.group,
                "knob_a": one, "knob_b": other}  # fmt: skip
        found, verdict = False, Verdict.NO_BLOCK
        for first, second in product(_others(figures, one), _others(figures, other)):
            corners = _blocks(partners[one, first], partners[other, second])
            mean = figures.mean(corners, (1, -1, -1, 1))
            if mean is not None:
                found = True
                ends = {
                    "reference_a": values[one][figures.references[one]],
                    "value_a": values[one][first],
                    "reference_b": values[other][figures.references[other]],
                    "value_b": values[other][second],
                }
                yield same | ends | _cells_of(mean, "num_blocks")
            elif len(corners[0]):
                verdict = Verdict.SAME_RUNS
        if not found:
            is_composed = verdict is Verdict.SAME_RUNS
            no_block = {"num_blocks": 0, "verdict": str(verdict), "composed": is_composed}
            to_try = (
                ""
                if is_composed
                else " ".join(
                    f"--set {format_setting(knob, values[knob][_others(figures, knob)[0]])}"
                    for knob in (one, other)
                )
            )
            yield same | _NOTHING | no_block | {"to_try": to_try}


def _others(figures: Figures, knob: str) -> list[int]:
    """Return the codes of a knob's values but the reference, the most frequent of very many."""
    counts = np.bincount(figures.points.codes[knob][figures.known])
    counts[figures.references[knob]] = 0
    most = np.argsort(-counts, kind="stable")[:MAX_VALUES]
    return sorted(int(code) for code in most if counts[code])


def _partners(
    figures: Figures, knob: str, code: int, at_reference: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    """Return the row of each config at the reference with another value; -1 if there is none."""
    partners = np.full(len(figures.points), -1, dtype=np.int32)
    rows = np.flatnonzero(at_reference)
    partners[rows] = figures.partners(rows, knob, code)
    return partners


def _blocks(ones: npt.NDArray[np.int32], others: npt.NDArray[np.int32]) -> list[Rows]:
    """Return the rows of complete blocks, an array a corner: none, one, other, both changed."""
    start = np.flatnonzero((ones >= 0) & (others >= 0))
    both = others[ones[start]]
    start, both = start[both >= 0], both[both >= 0]
    return [start, *(rows.astype(np.intp) for rows in (ones[start], others[start], both))]
