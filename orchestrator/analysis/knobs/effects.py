"""Effects of the knobs, by matched pairs: configs that differ in the knob alone.

Random designs have no matched pairs. There a figure, or its logarithm, is a constant plus a term a
knob: a line over a number, over its logarithm where it spans a factor of ten; a step for each other
value. Least squares; the residual is the noise, so that interactions and curves of the knobs widen
the intervals (Draper and Smith, "Applied Regression Analysis", 3rd edition 1998, chapters 5, 14).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from orchestrator.analysis.knobs.figures import Figures, Verdict
from orchestrator.analysis.knobs.of_run import asked_figures
from orchestrator.analysis.statistics.intervals import CONFIDENCE, Floats, t_quantile, two_sided_p
from orchestrator.analysis.statistics.matched_pairs import MIN_DF, Basis, Mean, Rows, holm
from orchestrator.analysis.tables.run_tables import MARKS, RunTables

MAX_VALUES: Final = 10
"""With more values than this, each value of a knob is compared with the baseline's alone."""

_FOUND: Final = WeakKeyDictionary[RunTables, pd.DataFrame]()
"""Effects of the runs in use: the findings and the page ask for the same."""

_VALUES: Final = ("reference", "value")
_CELLS: Final = ("metric", "kind", "effect", "low", "high", "p", "verdict")
_MORE: Final = ("smallest", "largest", "basis", *MARKS, "group")


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
    if on is not None:
        return effects_in(asked_figures(run, on))
    if run not in _FOUND:
        _FOUND[run] = effects_in(asked_figures(run))
    return _FOUND[run].copy()


def effects_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the table of :func:`effects` for some figures."""
    rows: list[dict[str, Any]] = []
    for figures in asked:
        paired = {knob: _found(figures, knob) for knob in figures.knobs}
        alone = [knob for knob, own in paired.items() if own[0]["verdict"] == Verdict.NO_PAIR]
        modelled = list(model_effects(figures)) if alone else []
        for knob, own in paired.items():
            by_model = [row for row in modelled if row["knob"] == knob] if knob in alone else []
            rows += by_model or own
    return _table_of(rows)


def _table_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the table of rows, with ``p`` corrected by Holm's method and the ``verdict``."""
    table = pd.DataFrame(rows, columns=["knob", *_VALUES, *_CELLS, "num", *_MORE])
    table = table.rename(columns={"num": "num_pairs"})
    cells = {name: [row.get(name) for row in rows] for name in _VALUES}
    table = table.assign(**{name: pd.Series(each, dtype="object") for name, each in cells.items()})
    nothing = table["kind"].map({"ratio": 1.0, "difference": 0.0})
    p = pd.Series(holm(table["p"].to_numpy(dtype=np.float64)), index=table.index)
    shown = p < 1 - CONFIDENCE
    verdicts = pd.Series(str(Verdict.OPEN), index=table.index)
    verdicts[shown & (table["effect"] > nothing)] = str(Verdict.HIGHER)
    verdicts[shown & (table["effect"] < nothing)] = str(Verdict.LOWER)
    are_equal = (table["smallest"] == nothing) & (table["largest"] == nothing)
    verdicts[are_equal & (table["num_pairs"] > 1)] = str(Verdict.EQUAL)
    return table.assign(p=p, verdict=verdicts.where(table["effect"].notna(), table["verdict"]))


def _found(figures: Figures, knob: str) -> list[dict[str, Any]]:
    """Return a row a comparison that has configs; if there is none, one row that states it."""
    found = [(values, figures.effect(*sides)) for values, sides in _pairs(figures, knob)]
    known = [{"knob": knob, **values, **row} for values, row in found if row and row["num"]]
    verdict = Verdict.SAME_RUNS if any(row for _, row in found) else Verdict.NO_PAIR
    return known or [{"knob": knob} | figures.nothing(verdict)]


def _pairs(figures: Figures, knob: str) -> Iterator[tuple[dict[str, Any], tuple[Rows, Rows]]]:
    """Yield two values and the rows of the configs of either, for all values to compare."""
    values, codes = figures.points.values[knob], figures.points.codes[knob]
    reference = figures.references[knob]
    others = [code for code in range(len(values)) if code != reference]
    few = combinations(others, 2) if len(others) < MAX_VALUES else ()
    for start, code in [*((reference, other) for other in others), *few]:
        rows = np.flatnonzero((codes == start) & figures.known)
        partners = figures.partners(rows, knob, code)
        sides = rows[partners >= 0], partners[partners >= 0]
        yield {"reference": values[start], "value": values[code]}, sides


# -- an additive model, of knobs that no two configs differ in alone

_QUARTILES: Final = (0.25, 0.75)
_SPAN: Final = 10.0
"""Ratio of the largest to the smallest value from which a line is over the logarithm."""

Term = tuple[str, int, int, Floats]
"""A knob, the codes of two of its values, and the model's column: 0 at the one, 1 at the other."""


def model_effects(figures: Figures) -> Iterator[dict[str, Any]]:
    """Yield a row of effects a term that the configs determine; none where they are too few.

    A number's effect is from the lower to the upper quartile of the values tried.
    """
    rows = np.flatnonzero(figures.known & ~np.any([*figures.marks.values()], axis=0))
    terms = [term for knob in figures.knobs for term in _terms(figures, knob, rows)]
    design = np.column_stack([np.ones(len(rows)), *(column for *_, column in terms)])
    levels, scale = figures.levels[rows], np.sqrt((design**2).sum(axis=0).clip(1))
    products = design.T @ design / np.outer(scale, scale)
    exact = 1e-11  # share of the largest eigenvalue that rounding explains
    df = len(rows) - np.linalg.matrix_rank(products, rtol=exact, hermitian=True)
    if df < MIN_DF:
        return
    inverse = np.linalg.pinv(products, rtol=exact, hermitian=True)
    effects = inverse @ (levels @ design / scale) / scale
    noise = np.sqrt(((levels - design @ effects) ** 2).sum() / df)
    errors = noise * np.sqrt(np.diag(inverse)) / scale
    is_determined = np.isclose(np.diag(inverse @ products), 1)
    for place, (knob, start, end, _) in enumerate(terms, start=1):
        effect, error = float(effects[place]), float(errors[place])
        if is_determined[place] and error > 0:
            half, nan = float(t_quantile(df)) * error, float("nan")
            mean = Mean(
                effect=effect, low=effect - half, high=effect + half, num=0, smallest=nan,
                largest=nan, p=float(two_sided_p(effect / error, df)), basis=Basis.MODEL,
            )  # fmt: skip
            values = figures.points.values[knob]
            ends = {"reference": values[start], "value": values[end]}
            yield {"knob": knob, **ends, **figures.row_of(mean)}


def _terms(figures: Figures, knob: str, rows: Rows) -> Iterator[Term]:
    """Yield a knob's terms: one of a number with three values or more, else one a value."""
    values, codes = figures.points.values[knob], figures.points.codes[knob][rows]
    tried = np.unique(codes)
    if len(tried) > 2 and all(type(value) in (int, float) for value in values):
        low, high = np.quantile(codes, _QUARTILES, method="nearest").tolist()
        if low == high:
            low, high = int(tried[0]), int(tried[-1])
        numbers = np.array(values, dtype=np.float64)
        if numbers[tried[0]] > 0 and numbers[tried[-1]] >= _SPAN * numbers[tried[0]]:
            numbers = np.log(numbers)
        column = (numbers[codes] - numbers[low]) / (numbers[high] - numbers[low])
        yield knob, low, high, column
        return
    reference = figures.references[knob]
    for code in tried[tried != reference].tolist():
        yield knob, reference, code, (codes == code).astype(np.float64)
