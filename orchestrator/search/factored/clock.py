"""Curves side by side on the composed clock, until the first has reached a target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
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

    Each would be trained with the fastest setting of its group, so that its epochs take a time
    that is known: the samples over that speed. By this clock all curves advance together. One whose
    next epoch would end after another has reached the target cannot be the first.

    Args:
        findings: What is known.
        curves: The curves. Those that were trained for something else go on from where they are.
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
            asked = [(each, self._proposal(each, horizon)) for each in racing]
            before = {each: each.epochs for each, proposal in asked if proposal is not None}
            yield [proposal for _, proposal in asked if proposal is not None]
            for curve, epochs in before.items():
                curve.is_over |= curve.epochs == epochs  # it does not get any further

    @property
    def has_clock(self) -> bool:
        """Return True if the speed of any curve is known."""
        settings = map(self._findings.factors.setting_of, (each.config for each in self._curves))
        rates = map(self._findings.speeds.samples_per_s, settings)
        return not all(map(math.isnan, rates))

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

    def _proposal(self, curve: Curve, horizon: float) -> Proposal | None:
        """Return the training of a curve until ``horizon``; None where it is there already."""
        problem = self._findings.problem
        epochs = math.floor(horizon / self._time_at(curve, 1) + 1e-9)
        until = min(epochs, problem.budget.epochs)
        if until <= curve.epochs:
            return None
        pause = until if until < problem.budget.epochs else None
        return Proposal(
            config=self._findings.config(curve.config),
            budget=replace(problem.budget, pause_after=pause),
            repeat=curve.repeat,
        )
