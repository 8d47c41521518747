"""Effects by an additive model, of knobs that no two configs differ in alone.

Random designs have no matched pairs. Here a figure, or its logarithm, is a constant plus a term a
knob: a line over a number, over its logarithm where it spans a factor of ten; a step for each other
value. Least squares; the residual is the noise, so that interactions and curves of the knobs widen
the intervals (Draper and Smith, "Applied Regression Analysis", 3rd edition 1998, chapters 5, 14).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.statistics.intervals import Floats, t_quantile, two_sided_p
from orchestrator.analysis.statistics.matched_pairs import MIN_DF, Basis, Mean, Rows

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
    df = len(rows) - (np.linalg.matrix_rank(design) if len(rows) else 0)
    if df < MIN_DF:
        return
    inverse, levels = np.linalg.pinv(design), figures.levels[rows]
    effects = inverse @ levels
    noise = np.sqrt(((levels - design @ effects) ** 2).sum() / df)
    errors = noise * np.sqrt((inverse**2).sum(axis=1))
    is_determined = np.isclose(np.diag(inverse @ design), 1)
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
