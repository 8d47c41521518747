"""Grid search: every combination of the values of the knobs that vary."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from orchestrator.errors import SweepFileError
from orchestrator.kernel.candidates import Candidates, distinct_values
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Search, SearchSpec
from orchestrator.search.checks import require_positive
from orchestrator.search.rounds import Rounds
from orchestrator.space.domains import Choice, Domain

MAX_COMBINATIONS = 1_000_000


@dataclass(frozen=True)
class Grid(SearchSpec):
    """Tries every combination.

    Attributes:
        points: Values of each knob that varies over an interval, spaced evenly on its scale,
            the ends included. Knobs that vary over a choice get all of its values.
        trials: Configs to try at most, the baseline among them, drawn from the grid at
            random. None: all of them.
    """

    points: int = 3
    trials: int | None = None

    def __post_init__(self) -> None:
        require_positive(self, "points")
        if self.trials is not None:
            require_positive(self, "trials")

    def with_trials(self, trials: int) -> Grid:
        """Return the same grid, limited to ``trials`` configs."""
        return replace(self, trials=trials)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        return Rounds(
            self.candidates(problem), lambda trials: self.with_trials(trials).candidates(problem)
        )

    def candidates(self, problem: SearchProblem) -> Candidates:
        """Return the configs of the grid.

        Raises:
            SweepFileError: There are more combinations than can be gone through.
        """
        candidates = Candidates(problem=problem)
        candidates.add_all(combinations(problem, self.points))
        if self.trials is not None and self.trials < len(candidates.keys):
            rng = random.Random(f"grid of {problem.seed}")
            candidates.keys[1:] = rng.sample(candidates.keys[1:], self.trials - 1)
        return candidates


def combinations(problem: SearchProblem, points: int) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values of the knobs that vary.

    Raises:
        SweepFileError: There are more than :data:`MAX_COMBINATIONS`.
    """
    values = [distinct_values(domain.points(points)) for domain in problem.domains.values()]
    count = math.prod(map(len, values))
    if count > MAX_COMBINATIONS:
        sizes = ", ".join(
            f"{name} {len(column)}" for name, column in zip(problem.domains, values, strict=True)
        )
        raise SweepFileError(
            f"the grid has {count:,} combinations ({sizes} values)",
            f"allowed: at most {MAX_COMBINATIONS:,}; draw some of them with search=Random(100)",
        )
    for row in product(*values):
        yield {**problem.base, **dict(zip(problem.domains, row, strict=True))}


def every_combination(problem: SearchProblem, most: int) -> Iterator[dict[str, Any]] | None:
    """Return every combination of a finite space; None of an infinite one or of more than ``most``.

    A knob that varies over whole numbers has each of them.
    """
    values = [_every_value(domain, most) for domain in problem.domains.values()]
    finite = [column for column in values if column is not None]
    if len(finite) < len(values) or math.prod(map(len, finite)) > most:
        return None
    names = list(problem.domains)
    return ({**problem.base, **dict(zip(names, row, strict=True))} for row in product(*finite))


def _every_value(domain: Domain, most: int) -> Sequence[Any] | None:
    if isinstance(domain, Choice):
        return distinct_values(domain.values)
    return domain.every_value(most)
