"""What a plan says of trials that end early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.driver.plan_words import count
from orchestrator.sweep.definition import Sweep


def stopping_lines(sweep: Sweep[Any]) -> Iterator[str]:
    """Yield the rungs, what happens there, and what ``stopped`` rows are."""
    stopping = sweep.stopping
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
            "its own"
        )
    else:
        yield f"a trial that is not among the best {best} so far ends there"
    yield "the baseline trains to the end; rows that are stopped are results up to where they ended"
