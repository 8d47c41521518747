"""The configs that an Optuna search has not asked for yet, and the nearest of them to a point."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.kernel.problem import Key, SearchProblem, key_of
from orchestrator.search.grid import every_combination
from orchestrator.search.random import MAX_ENUMERATED, first_draws
from orchestrator.space.domains import Choice, Domain

Varied = Mapping[str, Any]
"""Values of the knobs that vary."""


_SAME = 1e-9
"""Distances that differ by less are the same, but for rounding."""


class Unasked:
    """New configs, for where a sampler suggests nothing new.

    Args:
        problem: The space.
        is_asked: Returns True for a config's key that does not count any more.
        rng: Decides between configs that are as near as each other, and draws where the space is
            infinite or has more than :data:`~orchestrator.search.random.MAX_ENUMERATED`
            combinations.
    """

    def __init__(
        self, problem: SearchProblem, is_asked: Callable[[Key], bool], rng: random.Random
    ) -> None:
        self._problem, self._is_asked, self._rng = problem, is_asked, rng

    @property
    def is_finite(self) -> bool:
        """Return True where the space is gone through, and nothing is drawn."""
        return every_combination(self._problem, MAX_ENUMERATED) is not None

    def nearest(self, near: Varied) -> Varied | None:
        """Return values that give a new and admissible config; None where none is left.

        Args:
            near: The suggestion that was not new. In a finite space the result is nearest to it:
                the sum over knobs of the distance on the knob's own scale, 0 to 1, or of 1 for
                values without an order that differ.
        """
        combinations = self._combinations
        if combinations is None:
            return self._drawn()
        left = self._left()
        if not len(left):
            return None
        differences = np.abs(self._places[left] - self._place(near))
        distances = np.where(self._unordered, differences > 0, differences).sum(axis=1)
        nearest = [int(index) for index in left[distances <= distances.min() + _SAME]]
        return combinations[self._rng.choice(nearest)]

    # -- a finite space

    @cached_property
    def _combinations(self) -> list[Varied] | None:
        """All combinations that the sweep's constraints allow."""
        problem = self._problem
        every = every_combination(problem, MAX_ENUMERATED)
        if every is None:
            return None
        self._keys = list[Key]()
        kept = list[Varied]()
        for config in every:
            canonical = problem.canonical(config)
            if problem.admissible(canonical):
                self._keys.append(key_of(problem, canonical))
                kept.append({name: config[name] for name in problem.domains})
        return kept

    @cached_property
    def _places(self) -> npt.NDArray[np.float64]:
        """Place of each combination, ``(N, D)``."""
        places = [self._place(varied) for varied in self._combinations or ()]
        return np.array(places).reshape(len(places), len(self._problem.domains))

    @cached_property
    def _unordered(self) -> npt.NDArray[np.bool_]:
        domains = self._problem.domains.values()
        return np.array([isinstance(d, Choice) and not is_ordered(d) for d in domains], dtype=bool)

    def _place(self, varied: Varied) -> npt.NDArray[np.float64]:
        return np.array([place(d, varied[name]) for name, d in self._problem.domains.items()])

    def _left(self) -> npt.NDArray[np.intp]:
        """Return the indices of the combinations whose configs are new."""
        return np.flatnonzero([not self._is_asked(key) for key in self._keys])

    # -- an infinite one

    def _drawn(self) -> Varied | None:
        problem = self._problem
        for config in first_draws(problem, self._rng):
            canonical = problem.canonical(config)
            if not self._is_asked(key_of(problem, canonical)) and problem.admissible(canonical):
                return {name: config[name] for name in problem.domains}
        return None


def is_ordered(domain: Choice) -> bool:
    """Return True for numbers in ascending order."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in domain.values)
    return numbers and list(domain.values) == sorted(domain.values)


def place(domain: Domain, value: Any) -> float:  # noqa: ANN401 - the knob's own type
    """Return where a value lies in its domain, 0 to 1 on its own scale."""
    if isinstance(domain, Choice):
        return domain.values.index(value) / max(len(domain.values) - 1, 1)
    if domain.low == domain.high:
        return 0.0
    if domain.log:
        return math.log(value / domain.low) / math.log(domain.high / domain.low)
    return float(value - domain.low) / (domain.high - domain.low)
