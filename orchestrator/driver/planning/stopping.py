"""Lines of a plan on trials that end early."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.planning.words import count


def stopping_lines(plan: Plan) -> Iterator[str]:
    """Yield the rungs, what happens there, what it saves, and what ``stopped`` rows are."""
    sweep, stopping = plan.sweep, plan.sweep.stopping
    if stopping is None:
        return
    *others, last = map(str, stopping.rungs(sweep.epochs))
    rungs = f"{', '.join(others)} and {last}" if others else last
    goals = " and ".join(goal.metric for goal in stopping.aim(sweep.objectives).goals)
    yield f"after {rungs} of {count(sweep.epochs, 'epoch')} configs are compared by {goals}"
    yield f"a trial that is not among the best 1 in {stopping.factor} so far ends there"
    if plan.num_train:
        num_others = plan.num_train - sweep.rigor.repeats
        trained = sweep.rigor.repeats * sweep.epochs + stopping.epochs_trained(
            num_others, sweep.epochs
        )
        yield f"about {trained:,} of {plan.num_train * sweep.epochs:,} epochs of the search"
    yield "the baseline trains to the end; rows that are stopped are results up to where they ended"
