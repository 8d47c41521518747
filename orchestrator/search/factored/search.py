"""The factored search: its stages in order."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.kernel.problem import Key, config_of
from orchestrator.kernel.search import WAIT, Pause, Proposal, Search
from orchestrator.metrics import Objective
from orchestrator.search.factored.clock import Race, value_to_reach
from orchestrator.search.factored.curves import train, train_in_rungs
from orchestrator.search.factored.factors import Factors, Group
from orchestrator.search.factored.findings import Curve, Findings
from orchestrator.search.factored.front import front, near_front, points
from orchestrator.search.factored.goal import RATE, goals_of
from orchestrator.search.factored.probes import look, looks
from orchestrator.search.factored.roles import check_learning, check_systems
from orchestrator.search.factored.seeds import repeat_near_front, settle_speeds
from orchestrator.search.factored.speeds import Speeds
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult

LEVEL = 0.05
"""Probability that a setting is dropped that is faster than the one picked, over the search."""

SLACK = 0.1
"""Time beyond the best within which further seeds decide who is the first at a target."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a factored search; see :class:`~orchestrator.search.factored.Factored`."""

    probe_steps: int
    confirm_steps: int
    max_probes: int
    seeds: int
    trials: int | None


class FactoredSearch(Search):
    """Probes, curves and seeds, each in batches whose trials do not wait for each other.

    The stages are one generator of batches. It goes on when the last trial of a batch has been
    told, never when it is asked: so what comes next depends on the results alone.

    Attributes:
        probe_budget: Budget of a probe: of speed alone.
        confirm_budget: The same of a confirm run that is compared.
    """

    def __init__(self, factors: Factors, settings: Settings) -> None:
        self._settings = settings
        self._problem = factors.problem
        goals = goals_of(self._problem)
        num_comparisons = factors.num_settings * len(looks(settings.max_probes))
        self._findings = Findings(factors, goals, Speeds(goals, num_comparisons, LEVEL))
        self.probe_budget = _of_speed_alone(self._problem.budget, settings.probe_steps)
        self.confirm_budget = _of_speed_alone(self._problem.budget, settings.confirm_steps)
        self._assigned: list[tuple[Group, Key]] = []
        self._racing: Race | None = None
        self._flow = self._stages()
        self._num_out = 0
        self._batch: list[Proposal] = []
        self._go_on()

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial of the batch."""
        if not self._batch:
            return WAIT if self._num_out else None
        self._num_out += 1
        return self._batch.pop(0)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take a result; at the end of a batch make the next one."""
        self._num_out -= 1
        self._findings.tell(trial, result)
        if not self._batch and not self._num_out:
            self._go_on()

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True for a curve that is at the target, or cannot be the first there."""
        if trial.stage is not Stage.TRAIN:
            return False
        curve = self._findings.reported(trial, report)
        if self._racing is None or curve.epochs >= self._problem.budget.epochs:
            return False
        return self._racing.is_ended(curve)

    def notes(self) -> list[str]:
        """Return the notes that were not handed out yet."""
        notes, self._findings.notes = self._findings.notes, []
        return notes

    @property
    def roles(self) -> dict[str, Role]:
        """The knobs' roles, as far as they were checked."""
        return dict(self._findings.factors.roles)

    def front(self) -> list[dict[str, Any]]:
        """Return the trained configs on the composed front, the fastest first."""
        return [
            config_of(self._problem, point.config)
            for point in front(points(self._findings, self._assigned))
        ]

    def _go_on(self) -> None:
        self._batch = next((batch for batch in self._flow if batch), [])

    def _stages(self) -> Iterator[list[Proposal]]:
        if self._findings.factors.has_choice:
            yield from self._speed()
        curves = self._curves()
        if self._findings.goals.are_final:
            yield from self._train(curves)
        if self._findings.goals.target is not None:
            yield from self._settle(lambda: self._findings.factors.groups)
            yield from self._race(self._findings.goals.target, curves)
        check_learning(self._findings, curves)
        if self._findings.goals.are_final and not self._findings.goals.is_best_all:
            self._racing = None
            yield from self._repeats()

    def _speed(self) -> Iterator[list[Proposal]]:
        for num_probes in looks(self._settings.max_probes):
            yield from look(self._findings, num_probes, self.probe_budget)
            if num_probes == 1:
                yield from check_systems(self._findings)

    def _curves(self) -> list[Curve]:
        """Return the curves to train, each with the group's pick where it may be."""
        findings = self._findings
        found = [
            (group, findings.trained_with(group, curve))
            for group in findings.factors.groups
            for curve in group.curves
        ]
        assigned = [(group, key) for group, key in found if key is not None]
        limit = self._settings.trials
        if limit is not None and limit < len(assigned):
            rng = random.Random(f"factored of {self._problem.seed}")
            assigned[1:] = rng.sample(assigned[1:], limit - 1)
        self._assigned = assigned
        return [findings.curve(key) for _, key in assigned]

    def _train(self, curves: Sequence[Curve]) -> Iterator[list[Proposal]]:
        """Train in rungs; the baseline's curve, the first, to the end.

        Where the best figure alone counts, as what a target is relative to, all curves are one
        group.
        """
        one = self._findings.goals.is_best_all
        by_group: dict[Group, list[Curve]] = {}
        for (group, _), curve in zip(self._assigned, curves, strict=True):
            by_group.setdefault(self._assigned[0][0] if one else group, []).append(curve)
        kept = curves[:1] if not one else ()
        yield from train_in_rungs(self._findings, by_group, kept)

    def _race(self, target: Objective, curves: Sequence[Curve]) -> Iterator[list[Proposal]]:
        """Train on the composed clock, then the winner and what is near it with further seeds."""
        findings = self._findings
        if not findings.factors.has_choice:
            yield from train(findings, curves, until=1)  # no probe has said how fast they are
        value = value_to_reach(findings, target)
        self._racing = race = Race(findings, curves, value)
        if not race.has_clock:
            findings.notes.append(f"no curve has a figure of {RATE}: the race counts epochs")
        yield from race.run()
        if race.best_s == math.inf:
            best = max((each.figures[0] for each in curves if each.figures), default=math.nan)
            findings.notes.append(
                f"no curve reached {target.metric} {target.sign * value:.4g} in "
                f"{self._problem.budget.epochs} epochs; the best got to {target.sign * best:.4g}"
            )
            return
        near = [each for each in curves if race.reached_s(each) <= race.best_s * (1 + SLACK)]
        for repeat in range(1, self._settings.seeds):
            again = [findings.curve(each.config, repeat) for each in near]
            self._racing = Race(findings, [*again, *near], value, slack=SLACK)
            yield from self._racing.run()

    def _repeats(self) -> Iterator[list[Proposal]]:
        """Train with further seeds what decides, and probe its settings until they are settled."""
        findings, assigned = self._findings, self._assigned
        yield from repeat_near_front(findings, assigned, self._settings.seeds)
        yield from self._settle(
            lambda: [each.group for each in near_front(findings, points(findings, assigned))]
        )

    def _settle(self, groups: Callable[[], Iterable[Group]]) -> Iterator[list[Proposal]]:
        if self._findings.factors.has_choice:
            yield from settle_speeds(self._findings, groups, self.probe_budget)


def _of_speed_alone(budget: Budget, steps: int) -> Budget:
    return replace(budget, steps=min(budget.steps or steps, steps), evaluated=False)
