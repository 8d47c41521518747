"""One figure of many configs, with its noise, and its mean differences."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orchestrator.analysis.columns import as_text
from orchestrator.analysis.statistics.intervals import Floats
from orchestrator.analysis.statistics.matched_pairs import (
    Basis,
    Mean,
    Points,
    Rows,
    mean_difference,
    noise_of,
)
from orchestrator.analysis.wording import MOST_FACTOR_OF_EFFECT, is_share

MOST_POINTS: Final = 0.5
"""A wider interval of a difference of shares is not informative and is not shown."""


class Kind(StrEnum):
    """The comparison of two figures."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


class Verdict(StrEnum):
    """Result of matched pairs for a figure; in a table, corrected for all rows that are shown."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal in every pair"
    OPEN = "not decided"
    NO_PAIR = "no pair"
    NO_BLOCK = "not tried together"
    SAME_RUNS = "of the same runs"
    """Composed figures that the knob does not change, by its role: nothing was measured."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Figures:
    """One figure of the configs of a group of comparable rows.

    Attributes:
        metric: Its name.
        group: The group.
        points: The configs.
        levels: The figure of each, its logarithm if ratios are taken; NaN if there is none.
        variances: Of each level; NaN if nothing was repeated.
        df: Degrees of freedom of ``variances``.
        runs: A number for the runs of each level, which composed configs share; None if each
            config has its own.
        composed: True for configs that were not themselves measured.
        contaminated: True for figures of contaminated runs; False for what was learned.
        is_mixed: True for a figure that is composed of both a speed and a curve: its parts are
            shared in too many ways for an interval.
        kind: The comparison that is made.
        baseline: The baseline's value of each knob; empty where not known.
        idle: For each config a place in ``idle_sets``.
        idle_sets: Knobs without effect in a config, such as those of a loader without workers.
        sign: +1 if larger is better, -1 if smaller is.
        asked: The requested knobs; None for all.
    """

    metric: str
    group: str
    points: Points
    levels: Floats
    variances: Floats
    df: Floats
    runs: npt.NDArray[np.int64] | None
    composed: npt.NDArray[np.bool_]
    contaminated: npt.NDArray[np.bool_]
    is_mixed: bool
    kind: Kind
    baseline: Mapping[str, Any]
    idle: npt.NDArray[np.intp]
    idle_sets: Sequence[frozenset[str]]
    sign: float = 1.0
    asked: Collection[str] | None = None

    @cached_property
    def knobs(self) -> list[str]:
        """The requested knobs that vary among the configs that have the figure.

        A knob counts as varied only if it differs from its default where it can have an effect.
        """
        return [
            name
            for name in self.points.varied
            if (self.asked is None or name in self.asked)
            and len(np.unique(self.points.codes[name][self.known & ~self._is_idle(name)])) > 1
        ]

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """True for the configs that have the figure."""
        return np.isfinite(self.levels)

    @cached_property
    def references(self) -> dict[str, int]:
        """The code of each knob's reference value.

        This is the baseline's value, or the most frequent one if no config with a figure has that.
        """
        references = {}
        for knob in self.knobs:
            counts = np.bincount(self.points.codes[knob][self.known])
            code = self.code(knob, self.baseline.get(knob))
            is_tried = code is not None and code < len(counts) and counts[code]
            references[knob] = code if code is not None and is_tried else int(counts.argmax())
        return references

    def code(self, knob: str, value: object) -> int | None:
        """Return the code of a knob's value; None if no config has it."""
        values = self.points.values[knob]
        cell = as_text(value) if values and isinstance(values[0], str) else value
        return values.index(cell) if cell in values else None

    def partners(self, rows: Rows, knob: str, code: int) -> Rows:
        """Return the row of each config with one value changed; -1 if that has no figure.

        Knobs that have an effect only at one of the two values do not distinguish two configs: 0
        workers are a pair with 3 workers that persist. If there are several such configs, those
        with the most frequent values count, so that no config is in two pairs.

        Args:
            rows: Configs of one value of the knob.
            knob: The knob.
            code: Code of its other value.
        """
        partners = self.points.changed(rows, {knob: code})
        partners = np.where((partners >= 0) & self.known[partners], partners, -1)
        others = np.flatnonzero((self.points.codes[knob] == code) & self.known)
        free = self._ever_idle(knob, np.concatenate([rows, others]))
        if not free:
            return partners
        are_usual = self._are_usual(rows, free)
        kin = np.full(len(rows), -1)
        kin[are_usual] = self.points.matched(
            rows[are_usual], others[self._are_usual(others, free)], [knob, *free]
        )
        for name in free:
            codes, is_idle = self.points.codes[name], self._is_idle(name)
            counts = (codes[rows] != codes[kin]) & ~is_idle[rows] & ~is_idle[kin]
            kin[(kin >= 0) & counts] = -1
        return np.where(partners >= 0, partners, kin)

    def _ever_idle(self, knob: str, rows: Rows) -> list[str]:
        """Return the other knobs that vary and are without effect in any of some configs."""
        names = frozenset[str]().union(
            *(self.idle_sets[place] for place in np.unique(self.idle[rows]))
        )
        return [name for name in self.points.varied if name in names and name != knob]

    def _is_idle(self, name: str) -> npt.NDArray[np.bool_]:
        places = [place for place, names in enumerate(self.idle_sets) if name in names]
        return np.isin(self.idle, places)

    def _are_usual(self, rows: Rows, names: Collection[str]) -> npt.NDArray[np.bool_]:
        """Return True for the configs with the most frequent value of each of some knobs."""
        usual = np.ones(len(rows), dtype=np.bool_)
        for name in names:
            codes = self.points.codes[name][rows]
            if len(codes):
                usual &= codes == np.bincount(codes).argmax()
        return usual

    def effect(self, corners: Sequence[Rows], signs: Sequence[int]) -> dict[str, Any] | None:
        """Return the mean difference of configs as a row of effects; None if there is no config.

        Differences of composed configs count once if they are from the same runs, and not at all if
        their own corners are. Those with a contaminated corner count only if all have one.

        Args:
            corners: The rows of the configs of each difference, an array a corner.
            signs: +1 or -1 for each corner.

        Returns:
            ``metric``, ``kind``, ``group``, the attributes of
            :class:`~orchestrator.analysis.statistics.matched_pairs.Mean`, and its ``verdict`` by
            its own interval alone.
        """
        if not len(corners[0]):
            return None
        corners, is_contaminated = self._clean(corners)
        if self.runs is not None:
            corners = self._of_distinct_runs(self.runs, corners)
        if not len(corners[0]):
            return self.nothing(Verdict.SAME_RUNS)
        differences = np.zeros(len(corners[0]))
        for rows, sign in zip(corners, signs, strict=True):
            differences += sign * self.levels[rows]
        sides = np.column_stack(corners)
        mean = mean_difference(differences, noise_of(self.variances[sides], self.df[sides]))
        if self._tells_nothing(mean):
            mean = replace(mean, low=math.nan, high=math.nan)
        if self.is_mixed:
            mean = replace(mean, p=math.nan, basis=Basis.UNKNOWN)
        verdict = (
            Verdict.HIGHER if mean.low > 0 else Verdict.LOWER if mean.high < 0 else Verdict.OPEN
        )
        cells = asdict(mean.as_ratio() if self.kind is Kind.RATIO else mean)
        are_composed = any(bool(self.composed[rows].any()) for rows in corners)
        cells |= {"basis": str(mean.basis), "composed": are_composed}
        cells |= {"contaminated": is_contaminated, "verdict": str(verdict)}
        return self._same | cells

    def nothing(self, verdict: Verdict) -> dict[str, Any]:
        """Return the row of effects for no difference."""
        is_composed = verdict is Verdict.SAME_RUNS
        cells = {"p": math.nan, "num": 0, "composed": is_composed, "contaminated": False}
        return self._same | cells | {"verdict": str(verdict)}

    @property
    def _same(self) -> dict[str, Any]:
        return {"metric": self.metric, "kind": str(self.kind), "group": self.group}

    def _clean(self, corners: Sequence[Rows]) -> tuple[Sequence[Rows], bool]:
        """Return the differences of clean runs, and False; if there are none, all, and True."""
        if not self.contaminated.any() or not len(corners[0]):
            return corners, False
        clean = ~np.any([self.contaminated[rows] for rows in corners], axis=0)
        return ([rows[clean] for rows in corners], False) if clean.any() else (corners, True)

    @staticmethod
    def _of_distinct_runs(runs: npt.NDArray[np.int64], corners: Sequence[Rows]) -> Sequence[Rows]:
        sides = np.column_stack(corners)
        ordered = np.sort(runs[sides], axis=1)
        distinct = sides[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
        first = np.unique(runs[distinct], axis=0, return_index=True)[1]
        return list(distinct[first].T)

    def _tells_nothing(self, mean: Mean) -> bool:
        width = mean.high - mean.low
        if self.kind is Kind.RATIO:
            return self.is_mixed or width > math.log(MOST_FACTOR_OF_EFFECT)
        return self.is_mixed or (is_share(self.metric) and width > MOST_POINTS)
