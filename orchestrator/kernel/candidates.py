"""The distinct configs of a search that knows them all before anything has run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.kernel.problem import Key, SearchProblem, config_of, key_of


@dataclass(kw_only=True)
class Candidates:
    """Distinct canonical configs, the baseline first, and what was left out.

    Attributes:
        problem: The search problem.
        drawn: True if the combinations are drawn at random, some perhaps more than once.
        keys: The configs, as :func:`key_of` gives them.
        num_combinations: Combinations, before any was left out.
        num_merged: Combinations with the same canonical form as an earlier one.
        num_excluded: Distinct configs that the sweep's own constraints exclude.
        baseline_added: True if the baseline is not itself one of the combinations.
    """

    problem: SearchProblem
    drawn: bool = False
    keys: list[Key] = field(default_factory=list)
    num_combinations: int = 0
    num_merged: int = 0
    num_excluded: int = 0
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

    def add_all(self, configs: Iterable[Mapping[str, Any]]) -> None:
        """Count many combinations."""
        for config in configs:
            self.add(config)

    def config(self, key: Key) -> dict[str, Any]:
        """Return the config of ``key``."""
        return config_of(self.problem, key)
