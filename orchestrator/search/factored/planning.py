"""The stages of a factored search, counted before anything has run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from orchestrator.kernel.search import PlannedStage
from orchestrator.search.factored.curves import KEPT, KEPT_OF_ALL, rungs
from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.goals import goals_of
from orchestrator.search.factored.probes import SETTLING
from orchestrator.trial import Budget, Stage

PROBE_SHARE: Final = 0.05
"""Time of a probe over a whole training's, for want of a measured one."""


def planned(
    factors: Factors, *, probes: int, seeds: int, trials: int | None
) -> Iterator[PlannedStage]:
    """Yield the stages with the fewest and the most trials of each."""
    goals, budget = goals_of(factors.problem), factors.problem.budget
    sizes = _curves_of_groups(factors, trials)
    if factors.has_choice:
        num = factors.num_settings
        yield PlannedStage(
            name="probe",
            least=num,
            most=math.ceil((1 + SETTLING) * num * probes),
            share_of_trial=PROBE_SHARE,
            isolated=True,
            text="each setting until its speed is known, the slower ones of a group left on the "
            "way",
            stage=Stage.PROBE,
        )
    if goals.is_best_all:
        yield from _rungs([sum(sizes)], budget, KEPT_OF_ALL, "the better third of all curves")
    elif goals.are_final:
        kept = "the better two thirds of each group and what is within noise"
        yield from _rungs(sizes, budget, KEPT, kept)
    if goals.target is not None:
        text = f"until one reaches {goals.target.metric}; those that cannot be first end"
        least = 0 if goals.are_final else sum(sizes)
        yield PlannedStage(name="train", least=least, most=None, share_of_trial=1 / 3, text=text)
    if seeds > 1:
        most = sum(sizes) * (seeds - 1)
        text = "further seeds on the composed front and within noise of it"
        yield PlannedStage(name="seeds", least=min(seeds - 1, most), most=most, text=text)


def _curves_of_groups(factors: Factors, limit: int | None) -> list[int]:
    """Return the number of curves of each group, spread evenly where there is a limit."""
    sizes = [len(group.curves) for group in factors.groups]
    share = 1.0 if limit is None else min(limit / sum(sizes), 1.0)
    return [max(round(size * share), 1) for size in sizes]


def _rungs(sizes: list[int], budget: Budget, kept: float, who: str) -> Iterator[PlannedStage]:
    at, trained = rungs(budget.epochs, has_steps=budget.steps is not None), 0
    left = sizes
    for number, epochs in enumerate(at):
        text = f"curves until {epochs} of {budget.epochs} epochs"
        yield PlannedStage(
            name="train",
            least=sum(left),
            most=sum(sizes),
            share_of_trial=(epochs - trained) / budget.epochs,
            text=f"{text}, {who}" if number else text,
        )
        left, trained = [math.ceil(kept * size - 1e-9) for size in left], epochs
