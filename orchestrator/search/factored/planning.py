"""The stages of a factored search, counted before anything has run."""

import math
from collections.abc import Iterator
from typing import Final

from orchestrator.formats import counted
from orchestrator.kernel.search import PlannedStage
from orchestrator.search.factored.curves import rungs, share_kept
from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.findings import Findings
from orchestrator.search.factored.probes import SETTLING, SETTLING_OF_PROBES, num_first
from orchestrator.search.factored.roles import SEEDS
from orchestrator.trial import Budget, Stage

PROBE_SHARE: Final = 0.05
"""Time of a probe over a whole training's, for want of a measured one."""

PROBE_S: Final = 2.0
"""Seconds of a probe at least: its process, its data and 96 steps. On two cores one of LeNet takes
1.7 s, one of GraphSAGE 2.0 s."""


def planned_stages(
    factors: Factors, *, probes: int, seeds: int, trials: int | None
) -> Iterator[PlannedStage]:
    """Yield the stages with the fewest and the most trials of each.

    Args:
        factors: The groups.
        probes: Most probes of a setting before the speeds of the front are settled.
        seeds: Most trainings of a curve.
        trials: Most curves. None: all of them.
    """
    findings = Findings(factors)
    goals, budget = findings.goals, findings.problem.budget
    curves = [len(group.curves) if goals.learned else 1 for group in factors.groups]
    share = 1.0 if trials is None else min(trials / sum(curves), 1.0)
    sizes = [max(round(size * share), 1) for size in curves]
    if factors.has_choice:
        num = factors.num_settings
        settling = (SETTLING_OF_PROBES * num * probes, SETTLING * sum(sizes) * seeds / PROBE_SHARE)
        yield PlannedStage(
            name="probe",
            least=num_first(findings),
            most=num * probes + math.ceil(max(settling)),
            share_of_trial=PROBE_SHARE,
            least_s=PROBE_S,
            isolated=True,
            text="each setting until its speed is known, the slower ones of a group left on the "
            "way",
            stage=Stage.PROBE,
        )
        if goals.learned:
            text = "the baseline with its own setting, whole, and further seeds where it differs"
            yield PlannedStage(name="train", least=0, most=2 * SEEDS[-1], text=text)
    kept, unseen = share_kept(goals, has_choice=factors.has_choice), sum(curves) - sum(sizes)
    most = sum(sizes) + sum(len(group.halfway) for group in factors.groups if goals.learned)
    if goals.is_best_all:
        who = "the better third of all curves"
        yield from _rungs([sum(sizes)], most, unseen, budget, kept, who)
    elif goals.are_final:
        who = "two thirds of each group and what is within noise"
        who = who if factors.has_choice else "third of each group"
        sure = sizes if goals.learned else sizes[:1]  # the baseline's group may be the fastest
        yield from _rungs(sure, most, unseen, budget, kept, f"the better {who}")
    if goals.target is not None:
        text = f"until one reaches {goals.target.metric}; those that cannot be first end"
        least = 0 if goals.are_final else sum(sizes)
        yield PlannedStage(name="train", least=least, most=None, share_of_trial=1 / 3, text=text)
    if seeds > 1:
        most = sum(sizes) * (seeds - 1)
        text = "further seeds on the composed front and within noise of it"
        yield PlannedStage(name="seeds", least=min(seeds - 1, most), most=most, text=text)


def _rungs(
    least: list[int], most: int, unseen: int, budget: Budget, kept: float, who: str
) -> Iterator[PlannedStage]:
    left, trained = least, 0
    others = f"; {counted(unseen, 'other')} are not looked at" if unseen else ""
    for epochs in rungs(budget.epochs, has_steps=budget.steps is not None):
        yield PlannedStage(
            name="train",
            least=sum(left),
            most=most,
            share_of_trial=(epochs - trained) / budget.epochs,
            text=f"curves until {epochs} of {budget.epochs} epochs"
            + (f", {who}" if trained else others),
        )
        left, trained = [math.ceil(kept * size - 1e-9) for size in left], epochs
