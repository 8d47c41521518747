"""Lines of a plan on trials that end early."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.driver.planning.pieces import num_rows
from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.planning.words import count, trials


def stopping_lines(plan: Plan) -> Iterator[str]:
    """Yield the rungs, what happens there, what it saves, and what ``stopped`` rows are."""
    sweep, stopping = plan.sweep, plan.sweep.stopping
    if stopping is None:
        return
    *others, last = map(str, stopping.rungs(sweep.epochs))
    rungs = f"{', '.join(others)} and {last}" if others else last
    goals = " and ".join(goal.metric for goal in stopping.aim(sweep.objectives).goals)
    yield f"after {rungs} of {count(sweep.epochs, 'epoch')} configs are compared by {goals}"
    best = f"1 in {stopping.factor}"
    if sweep.trainable.keeps_checkpoints:
        yield (
            f"a trial pauses there; the best {best} go on from their checkpoints, each as a row of "
            f"its own{_rows(plan)}"
        )
    else:
        yield f"a trial that is not among the best {best} so far ends there"
    if plan.num_train:
        num_others = plan.num_train - sweep.repeats
        trained = sweep.repeats * sweep.epochs + stopping.epochs_trained(num_others, sweep.epochs)
        yield f"about {trained:,} of {plan.num_train * sweep.epochs:,} epochs of the search"
    yield "the baseline trains to the end; rows that are stopped are results up to where they ended"


def _rows(plan: Plan) -> str:
    """Return how many rows that makes; nothing where the configs are not known."""
    if not plan.num_train:
        return ""
    return f": {trials(num_rows(plan, most=False), num_rows(plan, most=True))}"
