"""Totals over the stages of a plan, least and most; what is left of them in a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.driver.budgets.budgets import LEAST_CONFIGS, Amount, Budgets, kept_back
from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.resume import has_ended
from orchestrator.errors import SweepError
from orchestrator.kernel.events import Asked, Continued, Cut, Event, Finished, Started
from orchestrator.kernel.search import PlannedStage
from orchestrator.trial import Stage, Trial, TrialState


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


def kept_back_by(plan: Plan, budgets: Budgets) -> Amount:
    """Return what budgets keep back for the confirm stage; nothing where no duration is known."""
    one = _least_of(plan, [PlannedStage(name="", least=1, most=1)]).amount
    searched = _least_of(plan, _least_search(plan)).amount
    if one is None or searched is None:
        return Amount()
    return kept_back(plan.first_rounds, budgets, baseline=one, typical=one, least=searched)


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
        share * -(-num // (1 if stage.isolated else plan.capacity[0]))
        for stage, num, share in parts
    )
    amount = Amount(time_s=plan.trial_s * sum(rounds), core_s=plan.num_cores * busy_s)
    return Total(trials=trials, amount=amount)


# -- of a run that has begun


class Group(NamedTuple):
    """Trials that are interchangeable in a plan: each of them leaves one row less to run.

    Attributes:
        stage: Their stage.
        tests: True for those that evaluate the test split.
    """

    stage: Stage
    tests: bool = False


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a run.

    Attributes:
        states: Trials in each state, by their last results.
        num_run: Trials of each group that were started and have a result.
        num_unable: Trials known before their start to be unable to run here.
        has_searched: True if the search is over, and the confirm stage has begun.
        spent: What its trials took.
        has_ended: True if its last process came to the end.
    """

    states: Counter[str]
    num_run: Counter[Group]
    num_unable: Counter[Group]
    has_searched: bool
    spent: Amount
    has_ended: bool


def progress_of(past: Sequence[Event], spent: Amount) -> Progress:
    """Return the progress of a run with these events."""
    started = {event.trial_id for event in past if isinstance(event, Started)}
    groups = {event.trial.id: _group(event.trial) for event in past if isinstance(event, Asked)}
    ends = {event.trial_id: event.result.state for event in past if isinstance(event, Finished)}
    return Progress(
        states=Counter(ends.values()),
        num_run=Counter(
            groups[key] for key in ends if key in started and ends[key] != TrialState.NOT_RUN
        ),
        num_unable=Counter(
            groups[key] for key in ends if key not in started and ends[key] == TrialState.INFEASIBLE
        ),
        has_searched=_has_searched(past),
        spent=spent,
        has_ended=has_ended(past),
    )


def _group(trial: Trial) -> Group:
    return Group(trial.stage, trial.evaluate_test)


def what_is_left(plan: Plan, progress: Progress, *, search_is_over: bool) -> list[Total]:
    """Return the least that is left of a plan, and the most where the search has a known end.

    The rest of a group is at least 0, however many trials other groups had.
    """
    done = _done(plan, progress)
    stages = [*plan.searched, *plan.around]
    groups: dict[Group, list[PlannedStage]] = {}
    for stage in stages:
        if not search_is_over or stage.stage is Stage.CONFIRM:
            groups.setdefault(Group(stage.stage, stage.tests), []).append(stage)
    lows = {group: _least_of(plan, those) for group, those in groups.items()}
    rests = [_rest(lows, done)]
    highs = {g: high for g, those in groups.items() if (high := _most_of(plan, those)) is not None}
    if _most_of(plan, stages) is not None:
        rests.append(_rest(highs, done))
    return rests


def _rest(totals: dict[Group, Total], done: Counter[Group]) -> Total:
    trials, time_s, is_timed = 0, 0.0, bool(totals)
    for group, total in totals.items():
        num = max(0, total.trials - done[group])
        trials += num
        if total.amount is None:
            is_timed = False
        elif num:
            time_s += total.amount.time_s * num / total.trials
    return Total(trials=trials, amount=Amount(time_s=time_s) if is_timed else None)


def _done(plan: Plan, progress: Progress) -> Counter[Group]:
    """Return the trials of each group that a plan has counted and that have a result."""
    # The plan leaves out so many that cannot run; any more take the place of one that can.
    left_out = (plan.max_configs or 0) - (plan.num_able or 0)
    unable = {one: max(0, number - left_out) for one, number in progress.num_unable.items()}
    return progress.num_run + Counter(unable)


def _has_searched(past: Sequence[Event]) -> bool:
    """Return True if the confirm stage has begun, and no budget has cut the search before."""
    has_searched = is_cut = False
    for event in past:
        if isinstance(event, Asked) and event.trial.stage is Stage.CONFIRM:
            has_searched = not is_cut
        elif isinstance(event, Cut) and event.part == "search":
            is_cut = True
        elif isinstance(event, Continued):
            has_searched = is_cut = False
    return has_searched
