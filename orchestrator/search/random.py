"""Random search: configs drawn independently from the knobs' domains."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from orchestrator.kernel.candidates import Candidates
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Search, SearchSpec
from orchestrator.search.checks import Count, require_types
from orchestrator.search.grid import Rounds, every_combination

MAX_MISSES = 10_000
"""Draws in a row that give nothing new before a space is gone through, or counts as used up."""

MAX_ENUMERATED = 100_000
"""Combinations of a finite space that is gone through for what was not drawn."""


@dataclass(frozen=True)
class Random(SearchSpec):
    """Tries configs drawn at random.

    Attributes:
        trials: Distinct configs to try, the baseline among them. A space that has fewer is
            tried whole.
    """

    trials: Count = 30

    def __post_init__(self) -> None:
        require_types(self)

    def with_trials(self, trials: int) -> Random:
        """Return the same search, limited to ``trials`` configs."""
        return Random(trials)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        return Rounds(
            self.candidates(problem), lambda trials: self.with_trials(trials).candidates(problem)
        )

    def candidates(self, problem: SearchProblem) -> Candidates:
        """Return the configs that are drawn."""
        candidates = Candidates(problem=problem, drawn=True)
        draws = draw(problem, random.Random(f"random of {problem.seed}"))
        misses = 0
        while len(candidates.keys) < self.trials and misses < MAX_MISSES:
            misses = 0 if candidates.add(next(draws)) else misses + 1
        if misses == MAX_MISSES:
            self._add_the_rest(candidates)
        return candidates

    def _add_the_rest(self, candidates: Candidates) -> None:
        """Add what a finite space has left, which so many draws have missed."""
        for config in every_combination(candidates.problem, MAX_ENUMERATED) or ():
            if len(candidates.keys) == self.trials:
                return
            candidates.add(config)


def draw(problem: SearchProblem, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield configs without end, each knob's value drawn on its domain's own scale."""
    while True:
        values = {name: domain.sample(rng) for name, domain in problem.domains.items()}
        yield {**problem.base, **values}


def first_draws(problem: SearchProblem, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield :data:`MAX_MISSES` configs drawn at random."""
    return islice(draw(problem, rng), MAX_MISSES)
