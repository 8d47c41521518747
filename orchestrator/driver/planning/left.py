"""The plan of a run that has begun: what is done, what was spent, what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.driver.budgets.budgets import HOUR_S, Amount, Budgets
from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.planning.totals import least, most
from orchestrator.driver.planning.words import count, duration, trials
from orchestrator.driver.resume import has_ended
from orchestrator.storage.journal import Event
from orchestrator.trial import TrialState


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a run.

    Attributes:
        states: Trials in each state, by their last results.
        num_run: Trials that were started and have a result.
        spent: What its trials took.
        has_ended: True where its last process came to the end.
    """

    states: Counter[str]
    num_run: int
    spent: Amount
    has_ended: bool


def progress_of(past: Sequence[Event], spent: Amount) -> Progress:
    """Return the progress of a run with these events."""
    started = {event["trial_id"] for event in past if event["event"] == "started"}
    ends = {e["trial_id"]: e["result"]["state"] for e in past if e["event"] == "finished"}
    return Progress(
        states=Counter(ends.values()),
        num_run=sum(key in started and ends[key] != TrialState.NOT_RUN for key in ends),
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
    low, high = least(plan), most(plan)
    both = [total for total in (low, high) if total is not None]
    rest = [max(0, total.trials - progress.num_run) for total in both]
    times = [
        duration(total.amount.time_s * number / total.trials)
        for total, number in zip(both, rest, strict=True)
        if total.amount is not None and total.trials
    ]
    expected = f", about {' to '.join(dict.fromkeys(times))}" if times else ""
    yield f"{trials(rest[0], rest[-1] if high is not None else None)}{expected}"
    if num_not_run:
        yield f"{count(num_not_run, 'trial')} had no room in the budget"
