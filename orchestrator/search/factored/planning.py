"""The stages of a factored search, counted before anything has run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from orchestrator.kernel.search import PlannedStage
from orchestrator.search.factored.curves import KEPT, KEPT_OF_ALL, rungs
from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.goal import goals_of
from orchestrator.search.factored.search import Settings
from orchestrator.search.factored.seeds import SETTLING
from orchestrator.trial import Budget, Stage

PROBE_SHARE = 0.05
"""Time of a probe over a whole training's, for want of a measured one."""


def planned_stages(factors: Factors, settings: Settings) -> tuple[PlannedStage, ...]:
    """Return the stages with the fewest and the most trials of each."""
    goals, budget = goals_of(factors.problem), factors.problem.budget
    sizes = _curves_of_groups(factors, settings.trials)
    stages = [*_probes(factors, settings)]
    if goals.is_best_all:
        stages += _rungs([sum(sizes)], budget, KEPT_OF_ALL, "the better third of all curves")
    elif goals.are_final:
        kept = "the better two thirds of each group and what is within noise"
        stages += _rungs(sizes, budget, KEPT, kept)
    if goals.target is not None:
        text = f"until one reaches {goals.target.metric}; those that cannot be first end"
        least = 0 if goals.are_final else sum(sizes)
        stages.append(
            PlannedStage(name="train", least=least, most=None, share_of_trial=1 / 3, text=text)
        )
    if settings.seeds > 1:
        most = sum(sizes) * (settings.seeds - 1)
        text = "further seeds on the composed front and within noise of it"
        stages.append(
            PlannedStage(name="seeds", least=min(settings.seeds - 1, most), most=most, text=text)
        )
    return tuple(stages)


def _curves_of_groups(factors: Factors, limit: int | None) -> list[int]:
    """Return the number of curves of each group, spread evenly where there is a limit."""
    sizes = [len(group.curves) for group in factors.groups]
    if limit is None or limit >= sum(sizes):
        return sizes
    share = limit / sum(sizes)
    return [max(round(size * share), 1) for size in sizes]


def _probes(factors: Factors, settings: Settings) -> Iterator[PlannedStage]:
    if factors.has_choice:
        num = factors.num_settings
        text = "each setting until its speed is known, the slower ones of a group left on the way"
        yield PlannedStage(
            name="probe",
            least=num,
            most=math.ceil((1 + SETTLING) * num * settings.max_probes),
            share_of_trial=PROBE_SHARE,
            isolated=True,
            text=text,
            stage=Stage.PROBE,
        )


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
