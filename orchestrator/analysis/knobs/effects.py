"""Effect of each knob, by matched pairs: configs that differ in it alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.knobs.figures import Figures, Mean
from orchestrator.analysis.knobs.of_run import figures_by_role
from orchestrator.analysis.statistics.intervals import CONFIDENCE
from orchestrator.analysis.statistics.matched_pairs import holm
from orchestrator.analysis.tables.run_tables import RunTables

MAX_VALUES: Final = 10
"""Of a knob with more values than this each is compared with the baseline's alone."""

COLUMNS: Final = (
    "knob", "reference", "value", "metric", "kind", "effect", "low", "high", "p", "verdict",
    "num_pairs", "smallest", "largest", "basis", "composed",
    "contaminated", "group",
)  # fmt: skip


NOTHING: Final[dict[str, Any]] = {"p": math.nan, "composed": False, "contaminated": False}
"""Cells of a row without a pair or a block."""


class Verdict(StrEnum):
    """Result of matched pairs for a figure, corrected for all rows that are shown."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal in every pair"
    OPEN = "not decided"
    NO_PAIR = "no pair"
    SAME_RUNS = "of the same runs"
    """Composed figures that the knob does not change, by its role: nothing was measured of it."""


def knob_effects(tables: RunTables, on: str | None = None) -> pd.DataFrame:
    """Return the effect of each knob, for each pair of its values.

    Args:
        tables: The run.
        on: The figure. None: the speed for ``systems`` knobs, the accuracy for ``learning`` knobs,
            and the two for ``both``.

    Returns:
        See :func:`effects_in`.
    """
    return effects_in(figures_by_role(tables, on))


def effects_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the effect of each knob on each figure, for each pair of its values.

    Args:
        asked: The figures.

    Returns:
        A row a knob, pair of values, figure and group of comparable rows. ``effect`` is the mean
        over the pairs: of ``value`` over ``reference`` (``kind`` ``ratio``, geometric), or of the
        two's difference in the figure's own unit (``difference``: shares and what was learned).
        ``low`` and ``high``: its 95 % interval, empty where the noise is not known. ``p``: of no
        effect, corrected for all rows by Holm's method; ``verdict`` rests on it. ``num_pairs``;
        ``smallest`` and ``largest`` of them; ``basis`` of the interval; ``composed``, true where a
        config was not itself measured; ``contaminated``, true where no pair is of clean runs alone.
        The baseline's value is the reference where it was tried.
        A knob without a pair has one row that says so.
    """
    rows = [row for figures in asked for row in _rows(figures)]
    return with_verdicts(table_of(rows, COLUMNS, as_they_are=("reference", "value")), "num_pairs")


def table_of(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, as_they_are: Sequence[str]
) -> pd.DataFrame:
    """Return a table of rows; the values of knobs keep their own types."""
    table = pd.DataFrame(rows, columns=list(columns))
    cells = {name: [row.get(name) for row in rows] for name in as_they_are}
    return table.assign(**{name: pd.Series(some, dtype="object") for name, some in cells.items()})


def with_verdicts(table: pd.DataFrame, number: str) -> pd.DataFrame:
    """Return the table with ``p`` corrected by Holm's method, and the ``verdict`` that follows.

    Args:
        table: ``kind, effect, p, smallest, largest``, and ``verdict`` where there is no pair.
        number: Column of the number of pairs or blocks.
    """
    nothing = table["kind"].map({"ratio": 1.0, "difference": 0.0})
    p = pd.Series(holm(table["p"].to_numpy(dtype=np.float64)), index=table.index)
    shown = p < 1 - CONFIDENCE
    verdicts = pd.Series(str(Verdict.OPEN), index=table.index)
    verdicts[shown & (table["effect"] > nothing)] = str(Verdict.HIGHER)
    verdicts[shown & (table["effect"] < nothing)] = str(Verdict.LOWER)
    equal = (table["smallest"] == nothing) & (table["largest"] == nothing) & (table[number] > 1)
    verdicts[equal] = str(Verdict.EQUAL)
    return table.assign(p=p, verdict=verdicts.where(table[number] > 0, table["verdict"]))


def cells_of(mean: Mean) -> dict[str, Any]:
    """Return the cells of a row that a mean has."""
    return {
        "effect": mean.effect,
        "low": mean.low,
        "high": mean.high,
        "p": mean.p,
        "smallest": mean.smallest,
        "largest": mean.largest,
        "basis": str(mean.basis),
        "composed": mean.composed,
        "contaminated": mean.contaminated,
    }


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
                yield same | ends | cells_of(mean) | {"num_pairs": mean.num}
        if not found:
            is_composed = verdict is Verdict.SAME_RUNS
            yield (
                same | NOTHING | {"num_pairs": 0, "verdict": str(verdict), "composed": is_composed}
            )


def _pairs_of_values(figures: Figures, knob: str) -> list[tuple[int, int]]:
    reference = figures.references[knob]
    others = [code for code in range(len(figures.points.values[knob])) if code != reference]
    pairs = [(reference, code) for code in others]
    return pairs if len(others) >= MAX_VALUES else [*pairs, *combinations(others, 2)]
