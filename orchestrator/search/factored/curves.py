"""The learning curves of all groups: the better ones of each group are trained further."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.kernel.search import Proposal
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Curve, Figures, Findings
from orchestrator.search.stopping.layers import top

RUNGS: Final = (1 / 9, 1 / 3, 1.0)
"""Fractions of the epochs after which the weaker curves of a group are left."""

KEPT: Final = 2 / 3
"""Fraction of a group's curves that goes on from each rung. Half would leave curves that learn more
slowly and end higher."""

KEPT_OF_ALL: Final = 1 / 3
"""The same where the best of all curves alone is looked for."""

SURELY: Final = 2.0
"""Tolerances by which a slower group must learn worse, at a third of the epochs, to be left."""

Curves = Mapping[Group, list[Curve]]


def rungs(epochs: int, *, has_steps: bool = False) -> tuple[int, ...]:
    """Return the epochs after which curves are compared, whole ones; the last is the whole.

    Args:
        epochs: Of a whole training.
        has_steps: True where a number of steps may end it earlier: then it has no rungs.
    """
    if has_steps:
        return (epochs,)
    return tuple(sorted({math.ceil(share * epochs - 1e-9) for share in RUNGS}))


def train(findings: Findings, curves: Sequence[Curve], until: int) -> Iterator[list[Proposal]]:
    """Train curves until so many epochs, in random order; those that are there already are left."""
    problem = findings.problem
    pause = until if until < problem.budget.epochs else None
    budget = replace(problem.budget, pause_after=pause)
    asked = [
        Proposal(config=findings.config(each.config), budget=budget, repeat=each.repeat)
        for each in curves
        if not each.is_over and each.epochs < until
    ]
    random.Random(f"training until {until} of {problem.seed}").shuffle(asked)
    if asked:
        yield asked


def train_in_rungs(
    findings: Findings, curves: Curves, kept: Sequence[Curve]
) -> Iterator[list[Proposal]]:
    """Train all curves to the first rung, the better part of each group to the next, and so on.

    Paused curves go on from where they are. The curves in ``kept`` are never left.
    """
    problem = findings.problem
    at = rungs(problem.budget.epochs, has_steps=problem.budget.steps is not None)
    left = dict(curves)
    for epochs in at:
        yield from train(findings, [each for group in left.values() for each in group], epochs)
        if epochs != at[-1]:
            left = {group: survivors(findings, each, kept, epochs) for group, each in left.items()}
            if epochs >= problem.budget.epochs * RUNGS[-2]:
                left = unbeaten(findings, left, kept, epochs)


def survivors(
    findings: Findings, curves: Sequence[Curve], kept: Sequence[Curve], epochs: int
) -> list[Curve]:
    """Return the better two thirds, all that are within noise of them, and those in ``kept``.

    Curves are compared by their figures after so many epochs. One that was trained to its end, to
    check a role, has no lead by that. Where the best figure alone is looked for, it is the better
    third: of curves that are within noise of each other one is enough.
    """
    known = [(each, each.figures_at(epochs)) for each in curves]
    able: list[tuple[Curve, Figures]] = [(c, f) for c, f in known if f is not None]
    points, signs = [figures for _, figures in able], [1.0] * len(findings.goals.learned)
    kept_of, noise = (KEPT_OF_ALL, 0) if findings.goals.is_best_all else (KEPT, 1)
    if not signs:
        return [curve for curve, _ in able[:1]]
    best = [points[i] for i in top(points, signs, math.ceil(kept_of * len(points) - 1e-9))]
    within = findings.goals.is_within
    return [
        curve
        for curve, figures in able
        if curve in kept or any(within(figures, other, noise) for other in best)
    ]


def unbeaten(
    findings: Findings, left: Curves, kept: Sequence[Curve], epochs: int
) -> dict[Group, list[Curve]]:
    """Return the groups without those that another one surely beats in speed and in learning.

    Learning is compared after so many epochs.

    Of a group that is beaten the curves in ``kept`` remain.
    """
    beaten = [
        group
        for group in left
        if any(
            _beats(findings, (other, left[other]), (group, left[group]), epochs) for other in left
        )
    ]
    return {
        group: [curve for curve in curves if group not in beaten or curve in kept]
        for group, curves in left.items()
    }


def _beats(
    findings: Findings,
    one: tuple[Group, list[Curve]],
    other: tuple[Group, list[Curve]],
    epochs: int,
) -> bool:
    settings = [findings.fastest(group) for group, _ in (other, one)]
    if not findings.goals.learned or not findings.speeds.is_surely_slower(*settings):
        return False
    better, worse = (
        [figures for c in curves if (figures := c.figures_at(epochs)) is not None]
        for _, curves in (one, other)
    )
    tolerances = findings.goals.tolerances
    return all(
        any(
            all(b > w + SURELY * t for b, w, t in zip(good, bad, tolerances, strict=True))
            for good in better
        )
        for bad in worse
    )
