"""The rows of a search whose trials pause: one for each part of a curve, fewest and most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.driver.planning.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The parts of curves that end at the same rung, or at the end.

    Attributes:
        rows: How many.
        pause_after: Epochs of the rung; None: the end.
        share: Time of each, as a fraction of a whole training's.
    """

    rows: int
    pause_after: int | None = None
    share: float = 1.0


def has_pieces(plan: Plan) -> bool:
    """Return True where a curve of the search may have several rows."""
    return plan.sweep.stopping is not None and plan.sweep.trainable.keeps_checkpoints


def pieces(plan: Plan, *, most: bool) -> Iterator[Pieces]:
    """Yield the fewest parts of each rung, or the most, if no trial fails.

    The baseline trains to the end at once. It takes part in the comparison at each rung, so that
    its runs may be the best there and no other curve goes on.
    """
    sweep, stopping = plan.sweep, plan.sweep.stopping
    assert stopping is not None, "trials pause"
    num_curves = (plan.most_searched or 0) if most else plan.least_searched
    num_baseline = min(sweep.repeats, num_curves)
    yield Pieces(rows=num_baseline)
    rows, before = num_curves - num_baseline, 0
    for rung in stopping.rungs(sweep.epochs):
        yield Pieces(rows=rows, pause_after=rung, share=(rung - before) / sweep.epochs)
        limit = _most_going_on if most else _fewest_going_on
        rows, before = limit(rows, num_baseline, stopping.factor), rung
    yield Pieces(rows=rows, share=(sweep.epochs - before) / sweep.epochs)


def num_rows(plan: Plan, *, most: bool) -> int:
    """Return the fewest rows of the search, or the most."""
    return sum(part.rows for part in pieces(plan, most=most))


def _fewest_going_on(paused: int, num_baseline: int, factor: int) -> int:
    """Return how many go on at least: the best at the end, but for the baseline's own runs."""
    best = max((paused + num_baseline) // factor, 1)
    return min(paused, max(best - num_baseline, 0))


def _most_going_on(paused: int, num_baseline: int, factor: int) -> int:
    """Return how many go on at most: each that comes may be better than all before it.

    The first ``factor - 1`` wait for another one to come. From there on each one that comes makes
    one more the best of its rung at most, itself or the next best.
    """
    return min(paused, max(paused + num_baseline - factor + 1, 1))
