"""One figure of many configs, with its noise, and its mean differences."""

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.intervals import Floats
from orchestrator.analysis.statistics.matched_pairs import (
    Basis,
    Mean,
    Points,
    Rows,
    mean_difference,
    noise_of,
)
from orchestrator.analysis.tables.run_tables import MARKS
from orchestrator.analysis.wording import MOST_FACTOR_OF_EFFECT, is_share
from orchestrator.storage.history import cell_text
from orchestrator.trial import LOAD

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
        marks: Cells of :data:`MARKS`; other load does not change what was learned.
        is_mixed: True for a figure that is composed of both a speed and a curve: its parts are
            shared in too many ways for an interval.
        kind: The comparison that is made.
        baseline: The baseline's value of each knob; empty where not known.
        idle: For a knob, True for the configs in which it has no effect, such as one of a loader
            in configs without workers; only knobs with such configs.
        asked: The requested knobs; None for all.
    """

    metric: str
    group: str
    points: Points
    levels: Floats
    variances: Floats
    df: Floats
    runs: npt.NDArray[np.int64] | None
    marks: Mapping[str, npt.NDArray[np.bool_]]
    is_mixed: bool
    kind: Kind
    baseline: Mapping[str, Any]
    idle: Mapping[str, npt.NDArray[np.bool_]]
    asked: Collection[str] | None = None

    @cached_property
    def knobs(self) -> list[str]:
        """The requested knobs that vary among the configs that have the figure.

        A knob counts as varied only if it differs from its default where it can have an effect.
        """
        codes, never = self.points.codes, np.zeros(len(self.points), dtype=np.bool_)
        return [
            name
            for name in self.points.varied
            if (self.asked is None or name in self.asked)
            and len(np.unique(codes[name][self.known & ~self.idle.get(name, never)])) > 1
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
        cell = cell_text(value) if values and isinstance(values[0], str) else value
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
        points, idle = self.points, self.idle
        partners = self._known(points.changed(rows, {knob: code}))
        others = np.flatnonzero((points.codes[knob] == code) & self.known)
        both = np.concatenate([rows, others])
        free = {n: points.codes[n] for n in idle if n != knob and idle[n][both].any()}
        if not free or not len(rows) or not len(others):
            return partners
        usual = {name: _most_frequent(codes[others]) for name, codes in free.items()}
        kin = self._known(points.changed(rows, {knob: code, **usual}))
        for name, codes in free.items():
            counts = (codes[rows] != codes[kin]) & ~idle[name][rows] & ~idle[name][kin]
            kin[counts | (codes[rows] != _most_frequent(codes[rows]))] = -1
        return np.where(partners >= 0, partners, kin)

    def _known(self, rows: Rows) -> Rows:
        return np.where((rows >= 0) & self.known[rows], rows, -1)

    def effect(self, starts: Rows, ends: Rows) -> dict[str, Any] | None:
        """Return the mean difference of pairs as a row of effects; None if there is no pair.

        Pairs of composed configs count once if they are from the same runs, and not at all if their
        own two are. Those with a disturbed config count only if all have one.

        Args:
            starts: The row of each pair's reference.
            ends: The row of its other config.

        Returns:
            ``metric``, ``kind``, ``group``, the attributes of
            :class:`~orchestrator.analysis.statistics.matched_pairs.Mean`, and its ``verdict`` by
            its own interval alone.
        """
        sides = np.column_stack([starts, ends])
        if not len(sides):
            return None
        is_dirty = self.marks[LOAD][sides].any(axis=1)
        sides = sides if is_dirty.all() else sides[~is_dirty]
        of_all = self._marks(sides)
        if self.runs is not None:
            sides = sides[np.diff(self.runs[sides], axis=1).any(axis=1)]
            sides = sides[np.unique(self.runs[sides], axis=0, return_index=True)[1]]
        if not len(sides):
            return self.nothing(Verdict.SAME_RUNS, of_all)
        differences = np.diff(self.levels[sides], axis=1).ravel()
        mean = mean_difference(differences, noise_of(self.variances[sides], self.df[sides]))
        if self.is_mixed:
            mean = replace(mean, low=math.nan, high=math.nan, p=math.nan, basis=Basis.UNKNOWN)
        return self.row_of(mean, self._marks(sides))

    def _marks(self, sides: Rows) -> list[str]:
        return [name for name in MARKS if self.marks[name][sides].any()]

    def row_of(self, mean: Mean, marks: Collection[str] = ()) -> dict[str, Any]:
        """Return a mean difference as a row of effects; see :meth:`effect`."""
        widest = MOST_POINTS if is_share(self.metric) else math.inf
        if self.kind is Kind.RATIO:
            widest = math.log(MOST_FACTOR_OF_EFFECT)
        if mean.high - mean.low > widest:
            mean = replace(mean, low=math.nan, high=math.nan)
        verdict = (
            Verdict.HIGHER if mean.low > 0 else Verdict.LOWER if mean.high < 0 else Verdict.OPEN
        )
        cells = asdict(mean)
        if self.kind is Kind.RATIO:
            logs = ("effect", "low", "high", "smallest", "largest")
            cells |= {name: math.exp(cells[name]) for name in logs}
        cells |= {name: name in marks for name in MARKS}
        return self._same | cells | {"basis": str(mean.basis), "verdict": str(verdict)}

    def nothing(self, verdict: Verdict, marks: Collection[str] = ()) -> dict[str, Any]:
        """Return the row of effects for no difference."""
        cells = {name: name in marks for name in MARKS}
        return self._same | {"p": math.nan, "num": 0, **cells, "verdict": str(verdict)}

    @property
    def _same(self) -> dict[str, Any]:
        return {"metric": self.metric, "kind": str(self.kind), "group": self.group}


def is_negligible(effect: Mapping[Any, Any], rule: Rule) -> bool:
    """Return True for an effect that is 0 in every pair, or whole within the rule's margin."""
    margin, low, high = rule.margin_of(effect["metric"]), effect["low"], effect["high"]
    is_of_speed = effect["metric"] == rule.speed.metric  # its margin is a share, others are none
    is_within = margin > 0 and is_of_speed == (effect["kind"] == Kind.RATIO)
    least, most = (1 - margin, 1 / (1 - margin)) if is_of_speed else (-margin, margin)
    return bool(is_within and least <= low and high <= most) or effect["verdict"] == Verdict.EQUAL


def _most_frequent(codes: npt.NDArray[np.int32]) -> int:
    return int(np.bincount(codes).argmax())
