"""Totals over the stages of a plan, least and most; what is left of them in a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.driver.budgets.budgets import LEAST_CONFIGS, Amount, Budgets
from orchestrator.driver.planning.plan import Plan
from orchestrator.errors import SweepError
from orchestrator.kernel.events import Asked, Event, Finished, Started
from orchestrator.kernel.search import PlannedStage
from orchestrator.trial import Stage, TrialState


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
    """Return least and most core-time of the search, as shares of the grid's; None if unknown."""
    if not plan.is_staged or plan.candidates is None:
        return None
    num_configs = len(plan.candidates.keys)
    low = sum(_least_share(stage) * stage.least for stage in plan.searched)
    high = [stage.most and stage.most * stage.share_of_trial for stage in plan.searched]
    if None in high:
        return None
    return low / num_configs, sum(share or 0 for share in high) / num_configs


def least_useful(plan: Plan) -> Total:
    """Return the least that gives an answer: what a budget must have room for.

    The least is that of a search in stages, else two configs. Then the confirm stage up to its
    first interim analysis.
    """
    return _least_of(plan, [*_least_search(plan), *plan.confirm])


def require_room(plan: Plan, budgets: Budgets) -> None:
    """Check that the budgets have room for the least of the plan, where durations are known.

    Raises:
        SweepError: A budget has no room.
    """
    needed = least_useful(plan)
    if needed.amount is None or not (by := budgets.exceeded_by(needed.amount)):
        return
    searched = "the least of the search" if plan.is_staged else "two configs"
    confirmed = " and the confirm stage up to its first analysis" if plan.confirm else ""
    hint = " or --set rigor.confirm=0" if plan.confirm else ""
    raise SweepError(
        f"{by} is below the least of this plan: {budgets.in_words(needed.amount)} for {searched}"
        f"{confirmed}, {needed.trials} trials",
        f"allowed: more than that{hint}; --plan shows the plan",
    )


def _least_search(plan: Plan) -> list[PlannedStage]:
    if plan.is_staged:
        return list(plan.searched)
    num = min(LEAST_CONFIGS, sum(stage.least for stage in plan.searched))
    return [PlannedStage(name="", least=num, most=num, isolated=True)]


def _least_of(plan: Plan, stages: Iterable[PlannedStage]) -> Total:
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


# -- of a run that has begun


def last_states(past: Sequence[Event]) -> dict[str, TrialState]:
    """Return the state of each trial that has a result, by its id."""
    return {event.trial_id: event.result.state for event in past if isinstance(event, Finished)}


def what_is_left(plan: Plan, past: Sequence[Event], *, searches: bool) -> list[Total]:
    """Return the least that is left of a plan, and the most where the search has a known end.

    A trial leaves one less of its stage, however many trials other stages had.

    Args:
        plan: The plan of the whole run.
        past: Events of the run.
        searches: True if its search continues; False if only the confirm stage does.
    """
    asked = {event.trial.id: event.trial.stage for event in past if isinstance(event, Asked)}
    started = {event.trial_id for event in past if isinstance(event, Started)}
    # A plan that lists its configs has left out those that cannot run.
    all_count = plan.num_able == plan.max_configs
    done = Counter(
        asked[name]
        for name, state in last_states(past).items()
        if state is not TrialState.NOT_RUN and (all_count or name in started)
    )
    stages = [*plan.searched, *plan.around] if searches else plan.confirm
    kinds = {kind: [stage for stage in stages if stage.stage is kind] for kind in Stage}
    rests = [_rest({kind: _least_of(plan, those) for kind, those in kinds.items()}, done)]
    if _most_of(plan, stages) is not None:
        highs = {kind: _most_of(plan, those) for kind, those in kinds.items()}
        rests.append(_rest({kind: high for kind, high in highs.items() if high}, done))
    return rests


def _rest(totals: Mapping[Stage, Total], done: Counter[Stage]) -> Total:
    trials, amount = 0, Amount()
    for kind, total in totals.items():
        if num := max(0, total.trials - done[kind]):
            trials += num
            amount += (total.amount or Amount()).times(num / total.trials)
    is_timed = all(total.amount is not None for total in totals.values())
    return Total(trials=trials, amount=amount if is_timed else None)
