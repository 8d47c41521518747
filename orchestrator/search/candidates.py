"""The distinct configs of a search that knows them all before anything has run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from orchestrator.search.base import SearchProblem

Key = tuple[Any, ...]
"""A config's values in the order of :attr:`SearchProblem.base`: compact, and hashable."""

NUM_EXAMPLES = 3


def key_of(problem: SearchProblem, config: Mapping[str, Any]) -> Key:
    """The values of ``config``; two configs are one where their keys are equal."""
    return tuple([config[name] for name in problem.base])


def config_of(problem: SearchProblem, key: Key) -> dict[str, Any]:
    """The inverse of :func:`key_of`."""
    return dict(zip(problem.base, key, strict=True))


@dataclass(frozen=True, kw_only=True)
class Merged:
    """Two ways of saying the same thing, where they differ.

    Attributes:
        said: Values of the knobs that can have no effect, as the space states them.
        meant: Their values in the canonical config.
    """

    said: Mapping[str, Any]
    meant: Mapping[str, Any]


@dataclass(kw_only=True)
class Candidates:
    """Distinct canonical configs, the baseline first, and what was left out.

    Attributes:
        problem: What they are candidates for.
        drawn: Whether the combinations are drawn at random, some perhaps more than once.
        keys: The configs, as :func:`key_of` gives them.
        num_combinations: Configs that were looked at, before any was left out.
        num_merged: How many of them say what another one says.
        merged: A few examples of these.
        num_excluded: Distinct configs that the sweep's own constraints exclude.
        baseline_added: Whether the baseline is not itself one of the combinations.
    """

    problem: SearchProblem
    drawn: bool = False
    keys: list[Key] = field(default_factory=list)
    num_combinations: int = 0
    num_merged: int = 0
    merged: list[Merged] = field(default_factory=list)
    num_excluded: int = 0
    baseline_added: bool = True
    _seen: set[Key] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        self._baseline = key_of(self.problem, self.problem.baseline)
        self.keys.append(self._baseline)

    def add(self, config: Mapping[str, Any]) -> bool:
        """Counts a combination; returns whether it is a new and admissible config."""
        self.num_combinations += 1
        meant = self.problem.canonical(config)
        key = key_of(self.problem, meant)
        if key in self._seen:
            self.num_merged += 1
            self._keep_example(config, meant)
            return False
        self._seen.add(key)
        if key == self._baseline:
            self.baseline_added = False
            return False
        if not self.problem.admissible(meant):
            self.num_excluded += 1
            return False
        self.keys.append(key)
        return True

    def add_all(self, configs: Iterable[Mapping[str, Any]]) -> None:
        """Counts many combinations."""
        for config in configs:
            self.add(config)

    def config(self, key: Key) -> dict[str, Any]:
        """The config that ``key`` stands for."""
        return config_of(self.problem, key)

    def _keep_example(self, said: Mapping[str, Any], meant: Mapping[str, Any]) -> None:
        if len(self.merged) == NUM_EXAMPLES:
            return
        differing = [name for name in said if said[name] != meant[name]]
        if differing and all(differing != list(example.said) for example in self.merged):
            example = Merged(
                said={name: said[name] for name in differing},
                meant={name: meant[name] for name in differing},
            )
            self.merged.append(example)


@runtime_checkable
class Enumerates(Protocol):
    """A search whose configs are known before anything has run."""

    def candidates(self, problem: SearchProblem) -> Candidates:
        """All of them; the same for the same problem."""


def distinct_values(values: Sequence[Any]) -> tuple[Any, ...]:
    """``values`` without repetitions, in their first order."""
    return tuple(dict.fromkeys(values))
