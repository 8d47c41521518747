"""Curves side by side on the composed clock, until the first has reached a target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.derived import EXACT, target_value
from orchestrator.kernel.search import Proposal
from orchestrator.metrics import Objective
from orchestrator.search.factored.findings import Curve, Findings

GROWTH: Final = 2.0
"""Ratio of the time that curves have been trained to, from one pause to the next."""


def value_to_reach(findings: Findings, target: Objective) -> float:
    """Return what a curve has to reach, the larger the better: as the tables have it.

    A target near the best is near the best figure of any epoch, and of any curve so far.
    """
    histories = (curve.history for curve in findings.curves.values() if curve.history)
    bests = [target.sign * max(figures[0] for _, figures in history) for history in histories]
    return target.sign * target_value(target, bests)


class Race:
    """Curves that are ended as soon as they cannot be the first to reach a target.

    An epoch takes its samples over the speed of the curve's setting. By this clock all curves
    advance together. A curve whose next epoch would end after another has reached the target cannot
    be the first.

    Args:
        findings: What is known.
        curves: The curves. Those that were trained for something else continue where they are.
        target: The figure to reach, the larger the better; of the first learned objective.
        slack: Time beyond the best one that is allowed, as a fraction of it.
    """

    def __init__(
        self, findings: Findings, curves: Sequence[Curve], target: float, slack: float = 0.0
    ) -> None:
        self._findings = findings
        self._curves = [curve for curve in curves if not curve.is_lost]
        self._target = target
        self._slack = slack

    def run(self) -> Iterator[list[Proposal]]:
        """Yield the trainings, until no curve can be the first any more."""
        horizon = 0.0
        while racing := [curve for curve in self._curves if not self.is_ended(curve)]:
            racing.sort(key=lambda curve: curve.figures or (-math.inf,), reverse=True)
            soonest = min(self._time_at(curve, curve.epochs + 1) for curve in racing)
            horizon = max(horizon * GROWTH, soonest)
            until = {each: self._epochs_at(each, horizon) for each in racing}
            before = {each: each.epochs for each in racing if until[each] > each.epochs}
            yield [self._findings.training(each, until[each]) for each in before]
            for curve, epochs in before.items():
                curve.is_over |= curve.epochs == epochs  # it does not get any further

    def is_ended(self, curve: Curve) -> bool:
        """Return True if the curve has reached the target, cannot be the first, or is whole."""
        if curve.is_over or self.reached_s(curve) < math.inf:
            return True
        if curve.epochs >= self._findings.problem.budget.epochs:
            return True
        return self._time_at(curve, curve.epochs + 1) > self.best_s * (1 + self._slack)

    @property
    def best_s(self) -> float:
        """Least composed time in which a curve reached the target; infinity where none has."""
        return min(map(self.reached_s, self._curves), default=math.inf)

    def reached_s(self, curve: Curve) -> float:
        """Return the composed time in which a curve reached the target; infinity if it has not."""
        for epochs, figures in curve.history:
            if figures[0] >= self._target - EXACT:
                return self._time_at(curve, epochs)
        return math.inf

    def _time_at(self, curve: Curve, epochs: int) -> float:
        """Return the time of so many epochs by the clock, in a unit that all curves share."""
        setting = self._findings.factors.setting_of(curve.config)
        rate = self._findings.speeds.samples_per_s(setting)
        samples = self._findings.samples_per_epoch
        wait = self._findings.speeds.metrics(setting).get("epoch_start_s", 0.0) if samples else 0.0
        return epochs * (wait + (samples or 1.0) / (1.0 if math.isnan(rate) else rate))

    def _epochs_at(self, curve: Curve, horizon: float) -> int:
        """Return the whole epochs of a curve by ``horizon``, at most those of its budget."""
        epochs = math.floor(horizon / self._time_at(curve, 1) + 1e-9)
        return min(epochs, self._findings.problem.budget.epochs)
