"""The factored search: as a sweep file states it, and its stages in order."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from orchestrator.formats import counted
from orchestrator.kernel.problem import Candidates, Key, SearchProblem, key_of
from orchestrator.kernel.search import (
    ComparedRun,
    Pause,
    PlannedStage,
    Proposal,
    Search,
    SearchSpec,
)
from orchestrator.metrics import Objective
from orchestrator.search.factored.curves import (
    Race,
    near_front,
    repeat_near_front,
    share_kept,
    train,
    train_in_rungs,
    value_to_reach,
)
from orchestrator.search.factored.factors import Factors, Group
from orchestrator.search.factored.findings import Curve, Findings
from orchestrator.search.factored.flows import Flow, Flows
from orchestrator.search.factored.planning import PROBE_S, PROBE_SHARE, planned_stages
from orchestrator.search.factored.probes import groups_to_train, look, looks, settle_speeds
from orchestrator.search.factored.roles import check_baseline, check_learning, check_systems
from orchestrator.search.grid import Count, coarse, combinations, halfway, require_types
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult

SLACK = 0.1
"""Time beyond the best within which further seeds decide who is the first at a target."""


@dataclass(frozen=True)
class Factored(SearchSpec):
    """Finds the front of a grid from speed and learning separately; see ``docs/sweep-files.md``.

    Attributes:
        points: Values of each knob that varies over an interval, as of a grid.
        probes: Most probes of a setting before the speeds of the front are settled.
        probe_steps: Most steps of a probe. A steady state takes three rounds of the loader's
            workers, each with the batches that it works ahead.
        confirm_steps: Most steps of a confirm run that is compared. More rounds of short runs
            separate two configs sooner than a few long ones.
        seeds: Trainings of a curve at most, each with another seed. Curves of the front and
            near it are trained again.
        trials: Curves to train at most, the baseline's among them, drawn from all at random.
            None: all of them. The baseline with its own setting is one more.
    """

    has_rungs: ClassVar[bool] = True
    has_probes: ClassVar[bool] = True
    warm_starts = True

    points: Count = 3
    probes: Count = 6
    probe_steps: Count = 96
    confirm_steps: Count = 384
    seeds: Count = 3
    trials: Count | None = None

    def __post_init__(self) -> None:
        require_types(self)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        return FactoredSearch(self.factors(problem), self)

    def num_seeds(self, problem: SearchProblem) -> int:
        """Return the most trainings of a curve: no fewer than the problem's repeats."""
        return max(self.seeds, problem.repeats)

    def factors(self, problem: SearchProblem) -> Factors:
        """Return the groups of configs, as they are known beforehand.

        Raises:
            SweepFileError: There are too many combinations.
        """
        halved = {
            name: halfway(domain, self.points)
            for name, domain in problem.domains.items()
            # Not with a limit: it is the number of curves.
            if problem.roles[name] is Role.LEARNING and self.trials is None
        }
        configs = combinations(problem, self.points, halved)
        return Factors(Candidates.of(problem, configs), halved=halved)

    def combinations(self, problem: SearchProblem) -> Iterator[dict[str, Any]]:
        """Return every combination of a grid."""
        return combinations(problem, self.points)

    def planned(self, problem: SearchProblem) -> Sequence[PlannedStage]:
        """Return the stages of the search: probes, rungs of curves, further seeds."""
        factors, seeds = self.factors(problem), self.num_seeds(problem)
        return tuple(planned_stages(factors, probes=self.probes, seeds=seeds, trials=self.trials))

    def listed(self, problem: SearchProblem) -> Candidates:
        """Return the configs of all groups."""
        return self.factors(problem).candidates

    def compared_run(self, problem: SearchProblem) -> ComparedRun:
        """Return a run of speed alone, of :attr:`confirm_steps`."""
        probes = self.confirm_steps / self.probe_steps
        budget = _of_speed_alone(problem.budget, self.confirm_steps)
        return ComparedRun(budget, min(PROBE_SHARE * probes, 1.0), PROBE_S * probes)


class FactoredSearch(Search):
    """Probes, curves and seeds; what does not depend on each other is side by side.

    Attributes:
        probe_budget: Budget of a probe: of speed alone.
    """

    extends = True

    def __init__(self, factors: Factors, spec: Factored) -> None:
        self._spec = spec
        self._problem = factors.problem
        self._findings = Findings(factors, num_looks=len(looks(spec.probes)))
        self._findings.notes += coarse(self._problem, spec.points, factors.halved)
        self.probe_budget = _of_speed_alone(self._problem.budget, spec.probe_steps)
        self._racing: Race | None = None
        self._flows = Flows(self._problem, self._stages())

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial of those that depend on no other result."""
        return self._flows.ask()

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take a result, and continue with what depended on it."""
        self._findings.tell(trial, result)
        self._flows.tell(trial)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True for a curve that is at the target, or cannot be the first there."""
        if trial.stage is not Stage.TRAIN:
            return False
        curve = self._findings.reported(trial, report)
        if self._racing is None or curve.epochs >= self._problem.budget.epochs:
            return False
        return self._racing.is_ended(curve)

    def end_early(self) -> None:
        """Note what is left out."""
        findings, groups = self._findings, self._findings.factors.groups
        settings = {setting for group in groups for setting in group.settings}
        known = sum(findings.speeds.num_runs(setting) > 0 for setting in settings)
        whole = sum(curve.is_over and not repeat for (_, repeat), curve in findings.curves.items())
        of_settings = counted(len(settings), "setting")
        of_curves = counted(sum(len(group.curves) for group in groups), "curve")
        findings.notes.append(
            f"cut short: {known} of {of_settings} have a speed, {whole} of {of_curves} are whole"
        )

    def extend(self, trials: int) -> None:
        """Continue to ``trials`` curves: through the stages again, with all that is known."""
        if trials > (self._spec.trials or trials):
            self._spec = replace(self._spec, trials=trials)
            self._flows.replace(self._stages())

    def notes(self) -> list[str]:
        """Return the notes that were not handed out yet."""
        notes, self._findings.notes = self._findings.notes, []
        return notes

    @property
    def roles(self) -> dict[str, Role]:
        """The knobs' roles, as far as they were checked."""
        return dict(self._findings.factors.roles)

    def _stages(self) -> Flow:
        findings, goals, budget = self._findings, self._findings.goals, self.probe_budget
        self._racing = None
        yield [] if findings.curves else self._known()
        # The baseline with its own setting takes long, and depends on no probe.
        own = [findings.curve(findings.factors.candidates.keys[0])] if goals.learned else []
        is_alone = not findings.factors.has_choice  # then that is the curve of its group
        baseline = train(findings, [] if is_alone else own, self._problem.budget.epochs)
        yield [self._probed_and_in_rungs(), baseline]
        while (yield from check_baseline(findings)):
            yield from self._in_rungs()
        assigned = [*self._chosen(self._spec.trials), *self._between()]
        curves = [findings.curve(key) for _, key in assigned]
        limit, num = self._spec.trials, len(self._chosen(None))
        if limit is not None and limit < num:
            left_out = f"{num - limit:,} of {counted(num, 'curve')}"
            findings.notes.append(f"{left_out} are not looked at: trials={limit:,}")
        if goals.target is not None:
            yield from settle_speeds(findings, lambda: findings.factors.groups, budget)
            yield from self._race(goals.target, curves)
        check_learning(findings, curves)
        if goals.are_final and not goals.is_best_all:
            self._racing = None
            yield [
                repeat_near_front(findings, assigned, self._spec.num_seeds(self._problem)),
                settle_speeds(
                    findings, lambda: [each for each, _ in near_front(findings, assigned)], budget
                ),
            ]

    def _probed_and_in_rungs(self) -> Flow:
        for num_probes in looks(self._spec.probes):
            yield from look(self._findings, num_probes, self.probe_budget)
            if num_probes == 1:
                yield from check_systems(self._findings)
        yield from self._in_rungs()

    def _in_rungs(self) -> Flow:
        """Train the curves of the groups, which are side by side."""
        findings, goals = self._findings, self._findings.goals
        if not goals.are_final:
            return
        by_group = defaultdict[Group | None, list[Curve]](list)
        for group, key in self._chosen(self._spec.trials):
            # If the best figure alone counts (a target is relative to it), all are one group.
            by_group[None if goals.is_best_all else group].append(findings.curve(key))
        kept = [] if goals.is_best_all else next(iter(by_group.values()), [])[:1]  # the baseline's
        share = share_kept(goals, has_choice=findings.factors.has_choice)
        yield [train_in_rungs(findings, each, kept, share) for each in by_group.values()]

    def _known(self) -> list[Proposal]:
        """Return what earlier runs have measured of the space: each has its result at once."""
        keys = set(self._findings.factors.candidates.keys)
        known = [p for p in self._problem.known if key_of(self._problem, p.config) in keys]
        return [each for number, each in enumerate(known) if each not in known[:number]]

    def _chosen(self, limit: int | None) -> list[tuple[Group, Key]]:
        """Return the curves to train: each with its group, and the group's pick where it may be."""
        found = [
            (group, self._findings.trained_with(group, curve))
            for group in groups_to_train(self._findings)
            for curve in group.curves[: None if self._findings.goals.learned else 1]
        ]
        assigned = [(group, key) for group, key in found if key is not None]
        if limit is not None and limit < len(assigned):
            rng = random.Random(f"factored of {self._problem.seed}")
            rng.shuffle(others := assigned[1:])  # a larger limit adds to them
            assigned[1:] = others[: limit - 1]
        return assigned

    def _between(self) -> list[tuple[Group, Key]]:
        """Return the curves between points of an interval that were trained, likewise."""
        factors, keys = self._findings.factors, [key for key, _ in self._findings.curves]
        found = [(factors.group_of[factors.setting_of(key)], key) for key in dict.fromkeys(keys)]
        return [each for each in found if factors.curve_of(each[1]) in each[0].halfway]

    def _race(self, target: Objective, curves: Sequence[Curve]) -> Iterator[list[Proposal]]:
        """Train on the composed clock, then the winner and what is near it with further seeds."""
        findings = self._findings
        if not findings.factors.has_choice:
            yield from train(findings, curves, until=1)  # without probes: for their speeds
        value = value_to_reach(findings, target)
        self._racing = race = Race(findings, curves, value)
        yield from race.run()
        if race.best_s == math.inf:
            best = max((each.figures[0] for each in curves if each.figures), default=math.nan)
            findings.notes.append(
                f"no curve reached {target.metric} {target.sign * value:.4g} in "
                f"{self._problem.budget.epochs} epochs; the best got to {target.sign * best:.4g}"
            )
            return
        near = [each for each in curves if race.reached_s(each) <= race.best_s * (1 + SLACK)]
        for repeat in range(1, self._spec.num_seeds(self._problem)):
            again = [findings.curve(each.config, repeat) for each in near]
            self._racing = Race(findings, [*again, *near], value, slack=SLACK)
            yield from self._racing.run()


def _of_speed_alone(budget: Budget, steps: int) -> Budget:
    return replace(budget, steps=min(budget.steps or steps, steps), evaluated=False)
