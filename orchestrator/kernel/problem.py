"""The input of a search, and the configs that are known before anything has run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.kernel.events import Value
from orchestrator.metrics import Objective
from orchestrator.space.domains import Domain
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Proposal, TrialResult

Key = tuple[Any, ...]
"""A config's values in the order of :attr:`SearchProblem.base`: compact, and hashable."""


@dataclass(frozen=True, kw_only=True)
class EarlierConfig:
    """Results of a config in earlier runs of the same trainable on the same data.

    Attributes:
        config: A value for every knob, canonical, within the space and its constraints.
        results: Results of its training runs, completed or infeasible.
    """

    config: Mapping[str, Value]
    results: Sequence[TrialResult]


@dataclass(frozen=True, kw_only=True)
class SearchProblem:
    """Input of a search.

    Attributes:
        base: Values of the knobs that are not varied, and defaults of those that are.
        domains: The knobs that are varied.
        baseline: The config that speed-ups are counted from.
        objectives: Metrics to improve, the speed first.
        budget: Budget of a trial trained to accuracy.
        repeats: Runs of each config.
        seed: Seed of the search's own choices.
        admissible: Returns True if the sweep's own constraints allow a config.
        canonical: Returns the canonical form of a config.
        roles: Role of each knob: what it changes.
        accuracy_tolerance: Loss of accuracy that is accepted for speed, a fraction of 1.
        tie_margin: Difference in speed that counts as a tie, a fraction of 1.
        target: Accuracy to which the time is an objective: with a bound, or with a tolerance
            from the best. None: no such objective.
        earlier: Results of earlier runs to begin with. They are not results of this run: a config
            for its tables is still asked for.
        known: Trials of earlier runs: what a search asks for as there has its result at once.
    """

    base: Mapping[str, Any]
    domains: Mapping[str, Domain]
    baseline: Mapping[str, Any]
    objectives: Sequence[Objective]
    budget: Budget
    repeats: int
    seed: int
    admissible: Callable[[Mapping[str, Any]], bool]
    canonical: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    roles: Mapping[str, Role]
    accuracy_tolerance: float = 0.005
    tie_margin: float = 0.02
    target: Objective | None = None
    earlier: Sequence[EarlierConfig] = ()
    known: Sequence[Proposal] = ()


def key_of(problem: SearchProblem, config: Mapping[str, Any]) -> Key:
    """Return the values of ``config``; two configs are the same if their keys are equal."""
    return tuple([config[name] for name in problem.base])


def config_of(problem: SearchProblem, key: Key) -> dict[str, Any]:
    """Return the config of a key, the inverse of :func:`key_of`."""
    return dict(zip(problem.base, key, strict=True))


def varied_within(problem: SearchProblem, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return values of the varied knobs that give a canonical config; None if it is outside.

    A knob that is idle in the config may have its default outside of its domain: any value of
    the domain gives the same canonical config.
    """
    if config.keys() != problem.base.keys():
        return None
    varied = {
        name: config[name] if domain.contains(config[name]) else domain.points(1)[0]
        for name, domain in problem.domains.items()
    }
    return varied if problem.canonical({**problem.base, **varied}) == config else None


@dataclass(kw_only=True)
class Candidates:
    """Distinct canonical configs, the baseline first, and what was left out.

    Attributes:
        problem: The search problem.
        keys: The configs, as :func:`key_of` gives them.
        num_combinations: Combinations, before any was left out.
        num_merged: Combinations with the same canonical form as an earlier one.
        num_excluded: Distinct configs that the sweep's own constraints exclude.
        num_unseen: Others that a limited search did not draw.
        baseline_added: True if the baseline is not itself one of the combinations.
    """

    problem: SearchProblem
    keys: list[Key] = field(default_factory=list)
    num_combinations: int = 0
    num_merged: int = 0
    num_excluded: int = 0
    num_unseen: int = 0
    baseline_added: bool = True
    _seen: set[Key] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        self._baseline = key_of(self.problem, self.problem.baseline)
        self.keys.append(self._baseline)

    def add(self, config: Mapping[str, Any]) -> bool:
        """Count a combination; return True if it is a new and admissible config."""
        self.num_combinations += 1
        canonical = self.problem.canonical(config)
        key = key_of(self.problem, canonical)
        if key in self._seen:
            self.num_merged += 1
            return False
        self._seen.add(key)
        if key == self._baseline:
            self.baseline_added = False
            return False
        if not self.problem.admissible(canonical):
            self.num_excluded += 1
            return False
        self.keys.append(key)
        return True

    @classmethod
    def of(cls, problem: SearchProblem, configs: Iterable[Mapping[str, Any]]) -> "Candidates":
        """Return the candidates among many combinations."""
        candidates = cls(problem=problem)
        for config in configs:
            candidates.add(config)
        return candidates

    def config(self, key: Key) -> dict[str, Any]:
        """Return the config of ``key``."""
        return config_of(self.problem, key)
