"""Learning curves: in rungs, where the better ones train on; in a race; the composed front."""

import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from orchestrator.derived import EXACT, target_value
from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.metrics import Objective
from orchestrator.search.factored.factors import Goals, Group
from orchestrator.search.factored.findings import Curve, Figures, Findings
from orchestrator.search.layers import top

RUNGS: Final = (1 / 9, 1 / 3, 1.0)
"""Fractions of the epochs after which the weaker curves of a group are left."""

KEPT: Final = 2 / 3
"""Fraction of a group's curves that train on from each rung. Half would leave curves that learn
more slowly and end higher."""

KEPT_OF_ALL: Final = 1 / 3
"""The same where the best of all curves alone is looked for."""

KEPT_ALONE: Final = 0.3
"""The same in a space without a choice of settings: of ten curves three, of three one."""

NOISE: Final = 0.5
"""Share of a tolerance within which a curve may be as good as another one."""

GROWTH: Final = 2.0
"""Ratio of the time that racing curves have been trained to, from one pause to the next."""


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
    left = [each for each in curves if not each.is_over and each.epochs < until]
    trainings = [findings.training(each, until) for each in left]
    yield findings.shuffled(trainings, f"training until {until}")


def train_in_rungs(
    findings: Findings, curves: Sequence[Curve], kept: Sequence[Curve], share: float
) -> Iterator[list[Proposal]]:
    """Train the curves of a group to the first rung, the better part to the next, and so on.

    Paused curves continue where they are. The curves in ``kept`` are never left. Over an interval
    the curves halfway between the best one and those next to it are added.
    """
    budget, before = findings.problem.budget, 0
    for epochs in rungs(budget.epochs, has_steps=budget.steps is not None):
        if before:
            added = near_best(findings, curves, before)
            yield from train(findings, added, before)
            curves = survivors(findings, [*curves, *added], kept, before, share)
        yield from train(findings, curves, epochs)
        before = epochs


def near_best(findings: Findings, curves: Sequence[Curve], epochs: int) -> list[Curve]:
    """Return the curves halfway between the best one after so many epochs and those next to it."""
    known = [(figures, each) for each in curves if (figures := each.figures_at(epochs))]
    keys = findings.factors.beside(max(known, key=itemgetter(0))[1].config) if known else []
    return [curve for curve in map(findings.curve, keys) if curve not in curves]


def share_kept(goals: Goals, *, has_choice: bool) -> float:
    """Return the fraction of a group's curves that train on from each rung."""
    return KEPT_OF_ALL if goals.is_best_all else KEPT if has_choice else KEPT_ALONE


def survivors(
    findings: Findings,
    curves: Sequence[Curve],
    kept: Sequence[Curve],
    epochs: int,
    share: float = KEPT,
) -> list[Curve]:
    """Return the better two thirds, all that are within noise of them, and those in ``kept``.

    Curves are compared by their figures after so many epochs. Of another ``share`` than
    :data:`KEPT` only the better ones are returned, whatever is within noise of them.
    """
    known = [(each, each.figures_at(epochs)) for each in curves]
    able: list[tuple[Curve, Figures]] = [(c, f) for c, f in known if f is not None]
    points, signs = [figures for _, figures in able], [1.0] * len(findings.goals.learned)
    if not signs:
        return [curve for curve, _ in able[:1]]
    best = [points[i] for i in top(points, signs, math.ceil(share * len(points) - 1e-9))]
    within, noise = findings.goals.is_within, 1 if share == KEPT else 0
    return [
        curve
        for curve, figures in able
        if curve in kept or any(within(figures, other, noise) for other in best)
    ]


def repeat_near_front(
    findings: Findings, assigned: Sequence[tuple[Group, Key]], num_seeds: int
) -> Iterator[list[Proposal]]:
    """Train the curves that decide with further seeds, up to ``num_seeds`` each.

    After each round their figures are the means, so that fewer need the next seed.
    """
    for repeat in range(1, num_seeds):
        keys = decisive(findings, [key for _, key in near_front(findings, assigned)])
        curves = [findings.curve(key, repeat) for key in keys]
        yield from train(findings, curves, findings.problem.budget.epochs)


def decisive(findings: Findings, near: Sequence[Key]) -> list[Key]:
    """Return the configs on and near the front that the recommendation depends on.

    It is the fastest within a tolerance of the best figure: so it depends on the best one, and on
    those that are within noise of the edge. With several learned objectives all are returned, with
    none no config.
    """
    if len(findings.goals.learned) != 1:
        return list(near) if findings.goals.learned else []
    means = [(key, mean[0]) for key in near if (mean := findings.mean_figures(key)) is not None]
    best, tolerance = max((mean for _, mean in means), default=0.0), findings.goals.tolerances[0]
    return [
        key
        for key, mean in means
        if mean == best or abs(best - tolerance - mean) <= NOISE * tolerance
    ]


def near_front(
    findings: Findings, assigned: Sequence[tuple[Group, Key]]
) -> list[tuple[Group, Key]]:
    """Return the curves on the composed front, and those within noise of it.

    A curve has the speed of its group's fastest setting. It is beyond noise where another one is
    as fast, learns nothing worse, and something better by more than the noise of one run.

    Args:
        findings: What is known.
        assigned: Curves, each with its group and the config that it is trained with. Those that
            were not trained to their end are left out.
    """
    is_within = findings.goals.is_within
    found = [(each, findings.mean_figures(each[1])) for each in assigned]
    known = [(each, findings.log_speed(each[0]), mean) for each, mean in found if mean is not None]
    return [
        each
        for each, log_speed, mean in known
        if not any(
            other_speed >= log_speed
            and is_within(other, mean, 0)
            and not is_within(mean, other, NOISE)
            for _, other_speed, other in known
        )
    ]


# -- curves side by side on the composed clock


def value_to_reach(findings: Findings, target: Objective) -> float:
    """Return what a curve has to reach, the larger the better: as the tables have it.

    A target near the best is near the best figure of any epoch, and of any curve so far.
    """
    histories = (curve.history for curve in findings.curves.values() if curve.history)
    bests = [target.sign * max(figures[0] for _, figures in history) for history in histories]
    return target.sign * target_value(target, bests)


class Race:
    """Curves that are ended as soon as they cannot be the first to reach a target.

    An epoch takes its samples over the speed of the curve's setting. By this clock all curves
    advance together. A curve cannot be the first if its next epoch ends after another curve has
    reached the target.

    Args:
        findings: What is known.
        curves: The curves. Those that were trained for something else continue where they are.
        target: The figure to reach, the larger the better; of the first learned objective.
        slack: Time beyond the best one that is allowed, as a fraction of it.
    """

    def __init__(
        self, findings: Findings, curves: Sequence[Curve], target: float, slack: float = 0.0
    ) -> None:
        self._findings = findings
        self._curves = [curve for curve in curves if not curve.is_lost]
        self._target = target
        self._slack = slack

    def run(self) -> Iterator[list[Proposal]]:
        """Yield the trainings, until no curve can be the first any more."""
        horizon, whole = 0.0, self._findings.problem.budget.epochs
        while racing := [curve for curve in self._curves if not self.is_ended(curve)]:
            racing.sort(key=lambda curve: curve.figures or (-math.inf,), reverse=True)
            soonest = min(self._time_at(curve, curve.epochs + 1) for curve in racing)
            horizon = max(horizon * GROWTH, soonest)
            until = {each: math.floor(horizon / self._time_at(each, 1) + 1e-9) for each in racing}
            until = {each: min(epochs, whole) for each, epochs in until.items()}
            before = {each: each.epochs for each in racing if until[each] > each.epochs}
            yield [self._findings.training(each, until[each]) for each in before]
            for curve, epochs in before.items():
                curve.is_over |= curve.epochs == epochs  # it does not get any further

    def is_ended(self, curve: Curve) -> bool:
        """Return True if the curve has reached the target, cannot be the first, or is whole."""
        if curve.is_over or self.reached_s(curve) < math.inf:
            return True
        if curve.epochs >= self._findings.problem.budget.epochs:
            return True
        return self._time_at(curve, curve.epochs + 1) > self.best_s * (1 + self._slack)

    @property
    def best_s(self) -> float:
        """Least composed time in which a curve reached the target; infinity where none has."""
        return min(map(self.reached_s, self._curves), default=math.inf)

    def reached_s(self, curve: Curve) -> float:
        """Return the composed time in which a curve reached the target; infinity if it has not."""
        for epochs, figures in curve.history:
            if figures[0] >= self._target - EXACT:
                return self._time_at(curve, epochs)
        return math.inf

    def _time_at(self, curve: Curve, epochs: int) -> float:
        """Return the time of so many epochs by the clock, in a unit that all curves share."""
        setting = self._findings.factors.setting_of(curve.config)
        rate = self._findings.speeds.samples_per_s(setting)
        samples = self._findings.samples_per_epoch
        wait = self._findings.speeds.metrics(setting).get("epoch_start_s", 0.0) if samples else 0.0
        return epochs * (wait + (samples or 1.0) / (1.0 if math.isnan(rate) else rate))
