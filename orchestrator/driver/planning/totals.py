"""Totals over the stages of a plan, least and most; what budgets keep back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.driver.budgets import Amount, Budgets
from orchestrator.driver.planning.plan import Plan
from orchestrator.errors import SweepError
from orchestrator.kernel.search import PlannedStage
from orchestrator.search.stages.confirm import FirstRounds

LEAST_CONFIGS: Final = 2
"""Configs that a search must have room for, or nothing is kept back: a baseline and one more."""

MARGIN: Final = 1.1
"""Factor on the expected confirm stage to be kept back for it: runs differ in length."""


@dataclass(frozen=True, kw_only=True)
class Total:
    """The total of some stages.

    Attributes:
        trials: Trials that are run.
        amount: What they take; None where no trial's duration is known.
    """

    trials: int
    amount: Amount | None


def least(plan: Plan) -> Total:
    """Return the total of what is planned if nothing is added."""
    return _least_of(plan, [*plan.searched, *plan.around])


def most(plan: Plan) -> Total | None:
    """Return the total with all that may be added; None if the search has no known end."""
    return _most_of(plan, [*plan.searched, *plan.around])


def num_rows(plan: Plan) -> int | None:
    """Return the most rows of the search and the fewest of the confirm stage; None: no end."""
    searched = [stage.most for stage in plan.searched]
    if not plan.is_staged:  # a config that cannot run has a row as well
        configs = plan.max_configs
        searched = [None if configs is None else configs * plan.sweep.rigor.repeats]
    rows = [*searched, *(stage.least for stage in plan.confirm)]
    return None if None in rows else sum(number or 0 for number in rows)


def share_of_grid(plan: Plan) -> tuple[float, float] | None:
    """Return least and most core-time of a search in stages, as shares of the grid's, if known."""
    high = [stage.most and stage.most * stage.share_of_trial for stage in plan.searched]
    if not plan.is_staged or plan.candidates is None or None in high:
        return None
    num_configs = len(plan.candidates.keys)
    low = sum(_least_share(stage) * stage.least for stage in plan.searched)
    return low / num_configs, sum(share or 0 for share in high) / num_configs


def _least_of(plan: Plan, stages: Sequence[PlannedStage]) -> Total:
    return _total(plan, [(stage, stage.least, _least_share(stage)) for stage in stages])


def _most_of(plan: Plan, stages: Sequence[PlannedStage]) -> Total | None:
    known = [(s, s.most, s.share_of_trial) for s in stages if s.most is not None]
    return _total(plan, known) if len(known) == len(stages) else None


def _least_share(stage: PlannedStage) -> float:
    return stage.share_of_trial if stage.least_share is None else stage.least_share


def _total(plan: Plan, parts: Sequence[tuple[PlannedStage, int, float]]) -> Total:
    """Return the total of stages, each with its number of trials and their share of a training."""
    trials = sum(num for _, num, _ in parts)
    if plan.trial_s is None:
        return Total(trials=trials, amount=None)
    busy_s = plan.trial_s * sum(num * share for _, num, share in parts)
    rounds = (
        share * -(-num // (1 if stage.isolated else plan.capacity)) for stage, num, share in parts
    )
    amount = Amount(time_s=plan.trial_s * sum(rounds), core_s=plan.num_cores * busy_s)
    return Total(trials=trials, amount=amount)


# -- budgets


def require_room(plan: Plan, budgets: Budgets) -> None:
    """Check that the budgets have room for the least that gives an answer, if it is known.

    The least is that of a search in stages, else two configs; then the confirm stage up to its
    first interim analysis.

    Raises:
        SweepError: A budget has no room.
    """
    searched, words = list(plan.searched), "the least of the search"
    if not plan.is_staged:
        num, words = min(LEAST_CONFIGS, sum(stage.least for stage in searched)), "two configs"
        searched = [PlannedStage(name="", least=num, most=num, isolated=True)]
    needed = _least_of(plan, [*searched, *plan.confirm])
    if needed.amount is None or not (by := budgets.exceeded_by(needed.amount)):
        return
    confirmed = " and the confirm stage up to its first analysis" if plan.confirm else ""
    hint = " or --set rigor.confirm=0" if plan.confirm else ""
    raise SweepError(
        f"{by} is below the least of this plan: {needed.amount} for {words}{confirmed}, "
        f"{needed.trials} trials",
        f"allowed: more than that{hint}; --plan shows the plan",
    )


def kept_back(
    first: FirstRounds, budgets: Budgets, *, baseline: Amount, typical: Amount
) -> Amount | None:
    """Return what budgets keep back for the confirm stage; None if no search would be left.

    Room for all finalists if there is enough, else only for the selected config.

    Args:
        first: The stage up to its first analysis.
        budgets: The budgets.
        baseline: Amount of a whole training of the baseline.
        typical: Amount of a whole training of another config.
    """
    if not first.rounds:
        return None
    search = baseline + typical.times(LEAST_CONFIGS - 1)
    for finalists, margin in ((first.finalists, MARGIN), (min(1, first.finalists), 1.0)):
        compared = (baseline + typical.times(finalists)).times(first.rounds * first.share)
        kept = (compared + typical).times(margin)  # the last one is the test run
        if not budgets.exceeded_by(kept + search):
            return kept
    return None
