"""Interactions of two knobs, from complete 2 x 2 blocks of configs that differ in the two alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.knobs.effects import (
    MAX_VALUES,
    NOTHING,
    Verdict,
    cells_of,
    table_of,
    with_verdicts,
)
from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.knobs.of_run import figures_by_role
from orchestrator.analysis.statistics.matched_pairs import Rows
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.space.configs import format_setting

NOT_TRIED: Final = "not tried together"
LOST: Final = "did not run together"
NESTED: Final = "one has no effect without the other"

_VALUES: Final = ("reference_a", "value_a", "reference_b", "value_b")
COLUMNS: Final = (
    "knob_a", "knob_b", *_VALUES, "metric", "kind", "effect", "low", "high", "p", "verdict",
    "num_blocks", "smallest", "largest", "basis", "composed", "contaminated", "to_try", "group",
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
        :func:`~orchestrator.analysis.knobs.effects.effects_in` has them. Two knobs without a block
        have one row with the ``--set`` options of the configs that are missing, as ``to_try``.
    """
    rows = [row for figures in asked for row in _rows(figures)]
    table = with_verdicts(table_of(rows, COLUMNS, as_they_are=_VALUES), "num_blocks")
    to_try = table["to_try"].astype("object")
    return table.assign(to_try=to_try.where(to_try.notna(), ""))


def _rows(figures: Figures) -> Iterator[dict[str, Any]]:
    same = {"metric": figures.metric, "kind": str(figures.kind), "group": figures.group}
    table = _Partners(figures)
    for one, other in combinations(figures.knobs, 2):
        pair = same | {"knob_a": one, "knob_b": other}
        found, missing = False, dict[str, Any]()
        for first, second in product(table.others[one], table.others[other]):
            corners = table.blocks((one, first), (other, second))
            mean = figures.mean(corners, (1, -1, -1, 1))
            if mean is not None:
                found = True
                codes = {"a": (one, first), "b": (other, second)}
                yield pair | _values(figures, codes) | cells_of(mean) | {"num_blocks": mean.num}
            elif len(corners[0]):
                missing = {"verdict": str(Verdict.SAME_RUNS), "composed": True}
        if not found:
            missing = missing or _missing(table, one, other)
            yield pair | NOTHING | {"num_blocks": 0} | missing


class _Partners:
    """The configs of a table that have one value of a knob instead of the reference.

    Attributes:
        figures: The table.
        at_reference: True for the rows with the reference, by knob.
        others: Codes of the values beside the reference, the most frequent of very many, by knob.
    """

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        codes = figures.points.codes
        self.at_reference = {
            knob: figures.known & (codes[knob] == figures.references[knob])
            for knob in figures.knobs
        }
        self.others = {knob: _others(figures, knob) for knob in figures.knobs}
        self._partners: dict[tuple[str, int], npt.NDArray[np.int32]] = {}

    def of(self, knob: str, code: int) -> npt.NDArray[np.int32]:
        """Return the partner of each row, -1 where there is none."""
        if (knob, code) not in self._partners:
            partners = np.full(len(self.figures.points), -1, dtype=np.int32)
            rows = np.flatnonzero(self.at_reference[knob])
            partners[rows] = self.figures.partners(rows, knob, code)
            self._partners[knob, code] = partners
        return self._partners[knob, code]

    def blocks(self, one: tuple[str, int], other: tuple[str, int]) -> list[Rows]:
        """Return the rows of complete blocks, an array a corner: none, one, other, both changed."""
        ones, others = self.of(*one), self.of(*other)
        start = np.flatnonzero((ones >= 0) & (others >= 0))
        both = others[ones[start]]
        start, both = start[both >= 0], both[both >= 0]
        return [start, *(rows.astype(np.intp) for rows in (ones[start], others[start], both))]

    def start(self, one: str, other: str) -> int:
        """Return the row that a block is looked for from; -1 where no config has both references.

        The baseline, or else the config with the most partners.
        """
        figures, points = self.figures, self.figures.points
        codes = {name: figures.code(name, figures.baseline.get(name)) for name in points.codes}
        known = {name: code for name, code in codes.items() if code is not None}
        row = points.row(known) if len(known) == len(codes) else -1
        both = self.at_reference[one] & self.at_reference[other]
        if row >= 0 and both[row]:
            return row
        num_partners = np.where(both, 0, -1)
        for knob in (one, other):
            for code in self.others[knob]:
                num_partners += self.of(knob, code) >= 0
        return int(num_partners.argmax()) if both.any() else -1


def _others(figures: Figures, knob: str) -> list[int]:
    counts = np.bincount(figures.points.codes[knob][figures.known])
    counts[figures.references[knob]] = 0
    most = np.argsort(-counts, kind="stable")[:MAX_VALUES]
    return sorted(int(code) for code in most if counts[code])


def _values(figures: Figures, codes: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    cells = {}
    for end, (knob, code) in codes.items():
        values = figures.points.values[knob]
        cells[f"reference_{end}"] = values[figures.references[knob]]
        cells[f"value_{end}"] = values[code]
    return cells


def _missing(table: _Partners, one: str, other: str) -> dict[str, Any]:
    """Return the cells of two knobs without a block: the configs that would make one.

    Of the values that lack the fewest configs those with the best figures alone.
    """
    figures, start = table.figures, table.start(one, other)
    if _is_idle(figures, one, other) or _is_idle(figures, other, one):
        return {"verdict": NESTED}
    best: tuple[tuple[float, float], dict[str, Any]] | None = None
    why_not = NOT_TRIED
    for first, second in product(table.others[one], table.others[other]) if start >= 0 else ():
        corners = [{one: first}, {other: second}, {one: first, other: second}]
        rows = [int(figures.points.changed(np.array([start]), c)[0]) for c in corners]
        missing = [c for c, row in zip(corners, rows, strict=True) if row < 0]
        if any(row >= 0 and not figures.known[row] for row in rows):
            why_not = LOST
            continue
        if any(_is_another(figures, start, corner) for corner in missing):
            why_not = NESTED
            continue
        gain = sum(figures.sign * float(figures.levels[row]) for row in rows if row >= 0)
        score = (-float(len(missing)), gain)
        if best is None or score > best[0]:
            texts = [_options(figures, start, corner) for corner in missing]
            codes = {"a": (one, first), "b": (other, second)}
            best = score, _values(figures, codes) | {"to_try": " and ".join(texts)}
    return {"verdict": why_not} if best is None else best[1] | {"verdict": NOT_TRIED}


def _is_idle(figures: Figures, knob: str, other: str) -> bool:
    """Return True for a conditional knob that never left its default at the other's reference."""
    default = figures.code(knob, figures.conditional.get(knob))
    if knob not in figures.conditional or default is None:
        return False
    changed = figures.points.codes[knob] != default
    at_reference = figures.points.codes[other] == figures.references[other]
    return bool(changed.any()) and not bool((changed & at_reference).any())


def _is_another(figures: Figures, start: int, changes: Mapping[str, int]) -> bool:
    """Return True where a conditional knob's default makes a config one that was tried already."""
    for knob, value in figures.conditional.items():
        default = figures.code(knob, value)
        if knob in changes or default is None or figures.points.codes[knob][start] == default:
            continue
        if figures.points.changed(np.array([start]), {**changes, knob: default})[0] >= 0:
            return True
    return False


def _options(figures: Figures, row: int, changes: Mapping[str, int]) -> str:
    """Return the ``--set`` options of a config: those that differ from the baseline."""
    points, baseline = figures.points, figures.baseline
    codes = {name: int(points.codes[name][row]) for name in points.codes} | dict(changes)
    return " ".join(
        f"--set {format_setting(name, points.values[name][code])}"
        for name, code in codes.items()
        if name in changes or (name in baseline and figures.code(name, baseline[name]) != code)
    )
