"""Scores of what a search found, by the truth's own values and never by the search's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import moocore
import numpy as np
import numpy.typing as npt

from benchmarks.search.truth import Truth
from orchestrator.analysis.statistics.pareto import front_of_points

Floats = npt.NDArray[np.float64]

BELOW_BEST = 0.02
"""The reference point's accuracy below the best, a fraction of 1."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """Score of a set of configs.

    Attributes:
        hypervolume: Their true values' over the true front's, on log speed and accuracy.
            The reference point is the truth's median speed and its best accuracy less 2 points.
        epsilon: Multiplicative epsilon indicator less 1: the factor by which their values must be
            raised, at worst, to reach each point of the true front (Zitzler et al., "Performance
            assessment of multiobjective optimizers", 2003).
        regret: Share of speed that the recommended config lacks to the fastest that is accurate
            enough; 1 if it is not accurate enough itself; NaN without one.
    """

    hypervolume: float
    epsilon: float
    regret: float


class Scorer:
    """Scores searches against one truth."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        configs = truth.configs
        names = list(truth.problem.base)
        keys = configs[names].astype(str).agg("|".join, axis=1)
        self._names = names
        self._values = {
            key: (speed, accuracy)
            for key, speed, accuracy in zip(
                keys, configs["speed"], configs["accuracy"], strict=True
            )
        }
        self._points = configs[["speed", "accuracy"]].to_numpy()
        self._front = self._points[front_of_points(self._points)]
        self._reference = (
            float(np.median(self._points[:, 0])),
            float(self._points[:, 1].max()) - BELOW_BEST,
        )
        self._best = hypervolume(self._front, self._reference)

    def values(self, config: Mapping[str, Any]) -> tuple[float, float]:
        """Return the true speed and accuracy of a config."""
        return self._values["|".join(str(config[name]) for name in self._names)]

    def score(
        self, found: Iterable[Mapping[str, Any]], recommended: Mapping[str, Any] | None
    ) -> Score:
        """Return the score of the configs that a search shows as the front."""
        points = np.array([self.values(config) for config in found]).reshape(-1, 2)
        return Score(
            hypervolume=hypervolume(points, self._reference) / self._best,
            epsilon=float(moocore.epsilon_mult(points, ref=self._front, maximise=True)) - 1,
            regret=float("nan") if recommended is None else self._regret(recommended),
        )

    def _regret(self, config: Mapping[str, Any]) -> float:
        speed, accuracy = self.values(config)
        least = self._points[:, 1].max() - self._truth.sweep.rigor.accuracy_tolerance
        if accuracy < least - 1e-9:
            return 1.0
        return 1 - speed / float(self._points[self._points[:, 1] >= least - 1e-9, 0].max())


def hypervolume(points: Floats, reference: tuple[float, float]) -> float:
    """Return the area that points dominate beyond the reference, on log speed and accuracy."""
    logs = np.column_stack([np.log(points[:, 0]), points[:, 1]])
    limit = np.array([np.log(reference[0]), reference[1]])
    beyond = logs[(logs > limit).all(axis=1)]
    return float(moocore.hypervolume(beyond, ref=limit, maximise=True)) if len(beyond) else 0.0
