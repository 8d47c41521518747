"""Goals of a factored search: a speed, learned figures, conditions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.kernel.problem import SearchProblem
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Goal, Objective, is_learned
from orchestrator.trial import TrialResult

RATE: Final = "samples_per_s"
"""Speed of a trial that does not report the sweep's own: one of another unit, or of a target."""

_COMPOSED: Final = (*OF_THE_TARGET, "cost", "energy_j")
"""Figures of a whole training, which a probe does not have."""


@dataclass(frozen=True, kw_only=True)
class Goals:
    """The objectives, by how a factored search serves them.

    Attributes:
        speed: The speed. Within a group it decides on the setting.
        learned: Objectives of what is learned, bounds among them. They decide on the curve.
        tolerances: For each of these the difference that counts as none, in its unit.
        conditions: Bounds on other figures, memory for one. A setting that violates one is not
            picked where another one holds it.
        tie_margin: Speeds that differ by less are equal, as a fraction of 1.
        target: The first learned objective where the time to a value of it counts: with a bound,
            or with a tolerance of the best. None: final figures count alone.
    """

    speed: Objective
    learned: tuple[Objective, ...]
    tolerances: tuple[float, ...]
    conditions: tuple[Objective, ...]
    tie_margin: float
    target: Objective | None = None

    @property
    def are_final(self) -> bool:
        """True where figures of whole trainings count, be it for a target relative to the best."""
        if self.target is None or self.target.bound is None:
            return True
        return any(each.bound is None for each in self.learned[1:])

    @property
    def is_best_all(self) -> bool:
        """True where of the final figures only the best one counts: a target is relative to it."""
        return self.target is not None and self.are_final and len(self.learned) == 1

    def log_speeds(self, result: TrialResult) -> tuple[float, float]:
        """Return the logarithms of a trial's speed and of its rate, the larger the faster.

        NaN for one that it has not: a probe that ended within an epoch has no time of an epoch.
        """
        rate = Objective(RATE, Goal.MAXIMIZE)
        figures = [(each.sign, result.metrics.get(each.metric)) for each in (self.speed, rate)]
        own, rate_log = (
            sign * math.log(figure) if figure is not None and 0 < figure < math.inf else math.nan
            for sign, figure in figures
        )
        return own, rate_log

    def figures(self, metrics: Mapping[str, float]) -> tuple[float, ...] | None:
        """Return the learned figures, the larger the better; None where one is missing."""
        values = [
            objective.sign * metrics.get(objective.metric, math.nan) for objective in self.learned
        ]
        return tuple(values) if all(map(math.isfinite, values)) else None

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Return True if no condition is known to be violated."""
        return all(condition.holds(metrics) for condition in self.conditions)

    def is_within(self, one: Sequence[float], other: Sequence[float], times: float = 1) -> bool:
        """Return True if ``one`` is nowhere worse than ``other`` by more than the tolerances."""
        return all(
            a >= b - times * tolerance
            for a, b, tolerance in zip(one, other, self.tolerances, strict=True)
        )


def goals_of(problem: SearchProblem) -> Goals:
    """Return what a search over ``problem`` looks for."""
    learned = [each for each in problem.objectives if is_learned(each.metric)]
    others = [each for each in problem.objectives if not is_learned(each.metric)]
    target = problem.target
    if target is not None:
        learned = [target, *(each for each in learned if each.metric != target.metric)]
    speeds = [each for each in others if each.bound is None and each.metric not in _COMPOSED]
    return Goals(
        speed=speeds[0] if speeds else Objective(RATE, Goal.MAXIMIZE),
        learned=tuple(learned),
        # A relative tolerance counts as that of a figure of 1.
        tolerances=tuple(
            problem.accuracy_tolerance if each.tolerance is None else each.tolerance
            for each in learned
        ),
        conditions=tuple(each for each in others if each.bound is not None),
        tie_margin=problem.tie_margin,
        target=target,
    )
