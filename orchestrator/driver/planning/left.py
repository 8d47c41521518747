"""The plan of a run that has begun: what is done, what was spent, what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.driver.budgets.budgets import HOUR_S, Amount, Budgets
from orchestrator.driver.planning.groups import Group
from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.planning.totals import Total, by_group
from orchestrator.driver.planning.words import count, duration, trials
from orchestrator.driver.resume import has_ended
from orchestrator.kernel.events import Asked, Continued, Cut, Event, Finished, Started
from orchestrator.trial import Stage, TrialState


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a run.

    Attributes:
        states: Trials in each state, by their last results.
        num_run: Trials of each group that were started and have a result.
        num_unable: Those that could not run here, which was known before they were started.
        has_searched: True where the search is over, and the confirm stage has begun.
        spent: What its trials took.
        has_ended: True where its last process came to the end.
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
    groups = {event.trial.id: Group.of(event.trial) for event in past if isinstance(event, Asked)}
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


def lines_of_the_rest(
    plan: Plan, progress: Progress, budgets: Budgets, *, goes_on: bool
) -> dict[str, list[str]]:
    """Return the lines of what is done and what is left, by their words.

    Args:
        plan: The plan of the whole run.
        progress: The run so far.
        budgets: Its budgets, larger ones given now included.
        goes_on: True where its search is extended now.
    """
    in_states = [f"{number} {state.replace('_', ' ')}" for state, number in progress.states.items()]
    done = count(progress.states.total() - progress.states[TrialState.NOT_RUN], "trial")
    return {
        "done": [f"{done}: {', '.join(in_states)}" if in_states else done],
        "spent": list(_spent(progress.spent, budgets)),
        "left": list(_left(plan, progress, goes_on=goes_on)),
    }


def _spent(spent: Amount, budgets: Budgets) -> Iterator[str]:
    gpus = f", {spent.gpu_s / HOUR_S:,.2g} GPU-hours" if spent.gpu_s else ""
    cost = f", cost {budgets.prices.of(spent):,.2g}" if budgets.prices is not None else ""
    yield f"{duration(spent.time_s)}, {spent.core_s / HOUR_S:,.2g} core-hours{gpus}{cost}"
    for share, words in budgets.shares(spent):
        yield f"{100 * share:.0f} % of {words}"


def _left(plan: Plan, progress: Progress, *, goes_on: bool) -> Iterator[str]:
    num_not_run = progress.states[TrialState.NOT_RUN]
    if progress.has_ended and not num_not_run and not goes_on:
        yield "nothing: the run has ended"
        return
    low, high = by_group(plan)
    rests = [
        _rest(plan, progress, totals, search_is_over=progress.has_searched and not goes_on)
        for totals in (low, high)
        if totals is not None
    ]
    times = [duration(rest.amount.time_s) for rest in rests if rest.amount is not None]
    expected = f", about {' to '.join(dict.fromkeys(times))}" if times else ""
    yield f"{trials(rests[0].trials, rests[-1].trials if high is not None else None)}{expected}"
    if num_not_run:
        yield f"{count(num_not_run, 'trial')} had no room in the budget"


def _rest(
    plan: Plan, progress: Progress, totals: Mapping[Group, Total], *, search_is_over: bool
) -> Total:
    """Return what is left of totals: of each group at least nothing, whatever others had more."""
    num_trials, time_s, is_timed = 0, 0.0, True
    for group, total in totals.items():
        is_over = search_is_over and group.is_of_search
        num = 0 if is_over else max(0, total.trials - _num_done(plan, progress, group))
        num_trials += num
        if total.amount is None:
            is_timed = False
        elif num:
            time_s += total.amount.time_s * num / total.trials
    amount = Amount(time_s=time_s) if is_timed and totals else None
    return Total(trials=num_trials, amount=amount)


def _num_done(plan: Plan, progress: Progress, group: Group) -> int:
    """Return the trials of a group that a plan has counted and that have a result."""
    # So many that cannot run are left out of the plan; others take the place of one that can.
    left_out = (plan.max_configs or 0) - (plan.num_able or 0)
    unable = {one: max(0, number - left_out) for one, number in progress.num_unable.items()}
    done = progress.num_run + Counter(unable)
    return done[group]


def _has_searched(past: Sequence[Event]) -> bool:
    """Return True where the confirm stage has begun, and no budget has cut the search before."""
    has_searched = is_cut = False
    for event in past:
        if isinstance(event, Asked) and event.trial.stage is Stage.CONFIRM:
            has_searched = not is_cut
        elif isinstance(event, Cut) and event.part == "search":
            is_cut = True
        elif isinstance(event, Continued):
            has_searched = is_cut = False
    return has_searched
