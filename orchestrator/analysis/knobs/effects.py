"""Effects of the knobs: of each by matched pairs, of two together by complete 2 x 2 blocks.

The configs of a pair differ in the knob alone, those of a block in the two knobs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.knobs.additive import model_effects
from orchestrator.analysis.knobs.figures import Figures, Verdict
from orchestrator.analysis.knobs.of_run import asked_figures
from orchestrator.analysis.statistics.intervals import CONFIDENCE
from orchestrator.analysis.statistics.matched_pairs import Rows, holm
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.space.configs import format_setting

MAX_VALUES: Final = 10
"""With more values than this, each value of a knob is compared with the baseline's alone."""

_CELLS: Final = ("metric", "kind", "effect", "low", "high", "p", "verdict")
_MORE: Final = ("smallest", "largest", "basis", "composed", "contaminated", "group")


def effects(run: RunTables, on: str | None = None) -> pd.DataFrame:
    """Return each knob's effect on a figure, by matched pairs: configs that differ in it alone.

    Pairs are within one group of comparable rows. For speeds, pairs with a contaminated run count
    only if there is no other; for what was learned they always do. A factored search's configs
    count by the runs from which their figures are composed: none twice.

    Args:
        run: A run; its baseline is the reference.
        on: The figure, such as ``samples_per_s``, for all knobs. None: the speed for ``systems``
            knobs, the accuracy for ``learning`` knobs and the two for ``both``.

    Returns:
        One row a knob, pair of values and figure. ``reference`` and ``value``, the baseline's first
        if it was tried; ``kind`` ``ratio`` (for speeds and times: value over reference) or
        ``difference`` (for shares and what was learned, in their own unit); ``effect``, the mean
        over ``num_pairs`` pairs, between ``smallest`` and ``largest``; ``low`` and ``high``, its
        95 % interval, and ``basis``, its source. Without repeats a single pair has none. A knob
        without pairs has effects of an ``additive model`` where the configs determine them: from
        the lower to the upper quartile of a number, with the residual as the noise.
        ``verdict`` is ``higher``, ``lower``, ``equal in every pair``, ``not decided`` or ``no
        pair``, by ``p``, which is corrected for all rows of the frame. ``composed``: a config was
        not itself measured. ``contaminated``: no pair has clean runs alone.

    Raises:
        TableError: The figure is unknown.

    Source: :mod:`orchestrator.analysis.statistics.matched_pairs`: t intervals over pairs with the
    noise of repeats pooled in; Holm, Scandinavian Journal of Statistics 6, 1979.
    """
    return effects_in(asked_figures(run, on, "effects"))


def interactions(run: RunTables, on: str | None = None) -> pd.DataFrame:
    """Return the joint effect of two knobs beyond the effect of each.

    From complete 2 x 2 blocks only: four configs that differ in the two knobs alone.

    Args:
        run: A run.
        on: The figure, for all knobs. None: the speed for two knobs that change it by their roles,
            the accuracy for two that change the accuracy.

    Returns:
        One row two knobs, a value of each with its reference, and figure. ``effect`` is a ratio
        of ratios over ``num_blocks`` blocks: the change from both, over the product of the changes
        from each alone. For shares and what was learned it is a difference of differences. 1, or
        0: neither changes the other's effect. The other columns are those of :func:`effects`. Two
        knobs without a block have one row, ``not tried together``, with the options of the config
        with both changed, ``to_try``.

    Raises:
        TableError: As :func:`effects`.

    Source: contrasts of a factorial design (Box, Hunter and Hunter, "Statistics for
    Experimenters", 2nd edition 2005, chapter 5); intervals as :func:`effects`.
    """
    return interactions_in(asked_figures(run, on, "interactions"))


def effects_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the table of :func:`effects` for some figures."""
    rows: list[dict[str, Any]] = []
    for figures in asked:
        paired = {
            knob: list(_found(figures, {"knob": knob}, _pairs(figures, knob), Verdict.NO_PAIR))
            for knob in figures.knobs
        }
        alone = [knob for knob, own in paired.items() if own[0]["verdict"] == Verdict.NO_PAIR]
        modelled = list(model_effects(figures)) if alone else []
        for knob, own in paired.items():
            by_model = [row for row in modelled if row["knob"] == knob] if knob in alone else []
            rows += by_model or own
    return _table_of(rows, ("knob",), ("reference", "value"), "num_pairs")


def interactions_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the table of :func:`interactions` for some figures."""
    rows = [row for figures in asked for row in _block_rows(figures)]
    values = ("reference_a", "value_a", "reference_b", "value_b")
    table = _table_of(rows, ("knob_a", "knob_b"), values, "num_blocks")
    return table.assign(to_try=pd.Series([row.get("to_try", "") for row in rows], dtype="object"))


def _table_of(
    rows: Sequence[Mapping[str, Any]], knobs: Sequence[str], values: Sequence[str], number: str
) -> pd.DataFrame:
    """Return the table of rows, with ``p`` corrected by Holm's method and the ``verdict``."""
    table = pd.DataFrame(rows, columns=[*knobs, *values, *_CELLS, "num", *_MORE])
    table = table.rename(columns={"num": number})
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
    return table.assign(p=p, verdict=verdicts.where(table["effect"].notna(), table["verdict"]))


Comparison = tuple[dict[str, Any], Sequence[Rows], Sequence[int]]
"""Values that differ, the rows of the configs of each corner, and the sign of each corner."""


def _found(
    figures: Figures,
    knobs: Mapping[str, str],
    comparisons: Iterable[Comparison],
    nothing: Verdict,
) -> Iterator[dict[str, Any]]:
    """Yield a row a comparison that has configs; if there is none, one row that states it."""
    found = [(v, figures.effect(corners, signs)) for v, corners, signs in comparisons]
    known = [{**knobs, **values, **row} for values, row in found if row and row["num"]]
    verdict = Verdict.SAME_RUNS if any(row for _, row in found) else nothing
    yield from known or [dict(knobs) | figures.nothing(verdict)]


def _pairs(figures: Figures, knob: str) -> Iterator[Comparison]:
    values, codes = figures.points.values[knob], figures.points.codes[knob]
    reference = figures.references[knob]
    others = [code for code in range(len(values)) if code != reference]
    few = combinations(others, 2) if len(others) < MAX_VALUES else ()
    for start, code in [*((reference, other) for other in others), *few]:
        rows = np.flatnonzero((codes == start) & figures.known)
        partners = figures.partners(rows, knob, code)
        corners = [rows[partners >= 0], partners[partners >= 0]]
        yield {"reference": values[start], "value": values[code]}, corners, (-1, 1)


def _block_rows(figures: Figures) -> Iterator[dict[str, Any]]:
    for one, other in combinations(figures.knobs, 2):
        knobs, blocks = {"knob_a": one, "knob_b": other}, _blocks(figures, one, other)
        for row in _found(figures, knobs, blocks, Verdict.NO_BLOCK):
            if row["verdict"] == Verdict.NO_BLOCK:
                row["to_try"] = " ".join(
                    f"--set {format_setting(knob, figures.points.values[knob][code])}"
                    for knob in (one, other)
                    for code in _others(figures, knob)[:1]
                )
            yield row


def _others(figures: Figures, knob: str) -> list[int]:
    """Return the codes of a knob's values but the reference, at most :data:`MAX_VALUES`."""
    codes = np.unique(figures.points.codes[knob][figures.known])
    return [int(code) for code in codes if code != figures.references[knob]][:MAX_VALUES]


def _blocks(figures: Figures, one: str, other: str) -> Iterator[Comparison]:
    """Yield the complete blocks of two knobs, by their corners: none, one, other, both changed."""
    values, references, codes = figures.points.values, figures.references, figures.points.codes
    is_start = (codes[one] == references[one]) & (codes[other] == references[other])
    for first, second in product(_others(figures, one), _others(figures, other)):
        start = np.flatnonzero(is_start & figures.known)
        ones = figures.partners(start, one, first)
        others = figures.partners(start, other, second)
        start, ones, others = (rows[(ones >= 0) & (others >= 0)] for rows in (start, ones, others))
        both = figures.partners(ones, other, second)
        ends = {
            "reference_a": values[one][references[one]],
            "value_a": values[one][first],
            "reference_b": values[other][references[other]],
            "value_b": values[other][second],
        }
        yield ends, [rows[both >= 0] for rows in (start, ones, others, both)], (1, -1, -1, 1)
