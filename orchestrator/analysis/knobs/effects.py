"""Effects of the knobs, by matched pairs: configs that differ in the knob alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.knobs.additive import model_effects
from orchestrator.analysis.knobs.figures import MARKS, Figures, Verdict
from orchestrator.analysis.knobs.of_run import asked_figures
from orchestrator.analysis.statistics.intervals import CONFIDENCE
from orchestrator.analysis.statistics.matched_pairs import Rows, holm
from orchestrator.analysis.tables.run_tables import RunTables

MAX_VALUES: Final = 10
"""With more values than this, each value of a knob is compared with the baseline's alone."""

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
    return effects_in(asked_figures(run, on))


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
