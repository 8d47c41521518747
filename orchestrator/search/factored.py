"""Factored search: speed from short probes, accuracy from training, by the knobs' roles.

A ``systems`` knob changes speed and never what is learned, a ``learning`` knob what is learned
and not the time of a step. So the product of the two need not be trained: the systems settings
are told apart by probes that end once their speed is known, and every setting of the other
knobs is trained with the fastest of them. Only knobs that are ``both`` multiply the two.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from orchestrator.search.base import WAIT, Pause, Proposal, Search, SearchProblem
from orchestrator.search.candidates import Candidates, Key, key_of
from orchestrator.search.checks import require_fraction, require_positive
from orchestrator.search.grid import combinations
from orchestrator.search.rounds import Rounds
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState


@dataclass(frozen=True)
class Factored:
    """Probes the systems settings for speed, then trains the others with the fastest.

    Attributes:
        points: Values of each knob that varies over an interval, as of a grid.
        half_width: A probe ends, within an epoch too, once half of its throughput's 95 %
            interval is at most this share of it.
        trials: Configs to train at most, the baseline among them, drawn from those that are
            left at random. None: all of them.
    """

    points: int = 3
    half_width: float = 0.05
    trials: int | None = None

    def __post_init__(self) -> None:
        require_positive(self, "points")
        require_fraction(self, "half_width")
        if self.trials is not None:
            require_positive(self, "trials")

    def with_trials(self, trials: int) -> Factored:
        """Return the same search, limited to ``trials`` trained configs."""
        return replace(self, trials=trials)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        budget = replace(problem.budget, half_width=self.half_width)
        return _Factoring(self.factors(problem), budget, self.trials)

    def factors(self, problem: SearchProblem) -> Factors:
        """Return the configs to probe and to train, as far as they are known beforehand.

        Raises:
            SweepFileError: There are more combinations than can be gone through.
        """
        candidates = Candidates(problem=problem)
        candidates.add_all(combinations(problem, self.points))
        return Factors(candidates)


class Factors:
    """Configs of a space, grouped by the knobs that decide speed or learning."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.problem = candidates.problem

    def speed_of(self, key: Key) -> Key:
        """Return the values that the time of a step depends on."""
        return self._values(key, Role.SYSTEMS, Role.BOTH)

    def learning_of(self, key: Key) -> Key:
        """Return the values that learning depends on."""
        return self._values(key, Role.LEARNING, Role.BOTH)

    def _values(self, key: Key, *roles: Role) -> Key:
        named = zip(self.problem.base, key, strict=True)
        return tuple([value for name, value in named if self.problem.roles[name] in roles])

    def contenders(self) -> dict[Key, list[Key]]:
        """Return the groups of configs that differ in speed only, the baseline's first."""
        groups: dict[Key, list[Key]] = {}
        for key in self.candidates.keys:
            groups.setdefault(self.learning_of(key), []).append(key)
        return groups

    def to_probe(self) -> list[Key]:
        """Return one config for each systems setting that a choice depends on.

        The baseline's comes first. The learning knobs are at the baseline's values where that is
        among the candidates.
        """
        wanted = {
            self.speed_of(key)
            for contenders in self.contenders().values()
            if len(contenders) > 1
            for key in contenders
        }
        baseline = self._values(self.candidates.keys[0], Role.LEARNING)
        by_likeness = sorted(
            self.candidates.keys, key=lambda key: self._values(key, Role.LEARNING) != baseline
        )
        chosen: dict[Key, Key] = {}
        for key in by_likeness:
            if self.speed_of(key) in wanted:
                chosen.setdefault(self.speed_of(key), key)
        first, *others = chosen.values() or [()]
        random.Random(f"probes of {self.problem.seed}").shuffle(others)
        return [first, *others] if chosen else []

    @property
    def max_trained(self) -> int:
        """Most configs to train: one for each way to learn, and the baseline."""
        contenders = self.contenders()
        return len(contenders) + (len(contenders[self.learning_of(self.candidates.keys[0])]) > 1)


class _Factoring:
    """The search: probes one at a time and isolated, then rounds of the configs to train."""

    def __init__(self, factors: Factors, budget: Budget, trials: int | None) -> None:
        self._factors, self._budget, self._trials = factors, budget, trials
        self._problem = factors.problem
        self._to_probe: Iterator[Key] = iter(factors.to_probe())
        self._speeds: dict[Key, float | None] = {}
        self._probing = False
        self._training: Rounds | None = None

    def ask(self) -> Proposal | Pause | None:
        """Return the next probe; once all have ended, the next trial to train."""
        if self._probing:
            return WAIT
        if self._training is None:
            for key in self._to_probe:
                self._probing = True
                config = self._factors.candidates.config(key)
                return Proposal(
                    config=config, budget=self._budget, stage=Stage.PROBE, isolated=True
                )
            self._training = Rounds(self._to_train())
        return self._training.ask()

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take the speed of a probe, or the result of a trained config."""
        if trial.stage is not Stage.PROBE:
            assert self._training is not None, "it was asked for"
            self._training.tell(trial, result)
            return
        self._probing = False
        objective = self._problem.objectives[0]
        figure = result.metrics.get(objective.metric)
        done = result.state is TrialState.COMPLETED and figure is not None
        speed = objective.sign * figure if done and figure is not None else -math.inf
        systems = self._factors.speed_of(key_of(self._problem, trial.config))
        cannot_run = result.state is TrialState.INFEASIBLE
        self._speeds[systems] = None if cannot_run else speed

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return False: each trial has its budget."""
        return False

    def _to_train(self) -> Candidates:
        """Return the fastest of each group of contenders, and the baseline."""
        baseline, *_ = self._factors.candidates.keys
        fastest = [self._fastest(contenders) for contenders in self._factors.contenders().values()]
        others = [key for key in fastest if key is not None and key != baseline]
        if self._trials is not None and self._trials - 1 < len(others):
            rng = random.Random(f"factored of {self._problem.seed}")
            others = rng.sample(others, self._trials - 1)
        candidates = Candidates(problem=self._problem)
        candidates.keys += others
        return candidates

    def _fastest(self, contenders: list[Key]) -> Key | None:
        """Return the fastest, of equals the first; None where none can run."""
        speeds = {
            key: self._speeds.get(self._factors.speed_of(key), -math.inf) for key in contenders
        }
        known = {key: speed for key, speed in speeds.items() if speed is not None}
        return max(known, key=lambda key: known[key]) if known else None
