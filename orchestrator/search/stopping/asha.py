"""Asynchronous successive halving, in a sweep file: ``stopping=Asha("val_acc")``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.errors import SweepFileError, refuse
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Search
from orchestrator.locations import caller
from orchestrator.metrics import Objective
from orchestrator.search.checks import require_positive, require_types, take_default
from orchestrator.search.stopping.halving import Aim, EndingSearch, Halving

REDUCTIONS = 2
"""Rungs of a grace period that is not stated, where the budget has room for them."""


@dataclass(frozen=True)
class Asha:
    """Trains few configs to the end: at each rung the best train on, the others end.

    Rungs are at ``grace``, ``grace * factor``, ``grace * factor**2``, ... epochs, up to the budget.
    All configs have seen the same number of samples there, whatever their batch size. A trial ends
    at a rung where it is not among the best 1/``factor`` of those seen there so far: the stopping
    variant of ASHA, as in Ray Tune. (Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht and
    Talwalkar, "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020.)

    The baseline always trains to the end. With one metric the best are those with the best values.
    With several they are the first non-dominated layers, and of a layer that has too many those
    that are spread out most: :mod:`orchestrator.search.stopping.layers`.

    Attributes:
        metric: Name of an objective of the sweep, or several; or objectives, made with
            ``maximize`` and ``minimize``. Empty: the sweep's objectives. Conditions of the sweep
            (``at_least``, ``at_most``) count in any case.
        grace: Epochs that each config trains at least. None: the budget by ``factor`` twice.
        factor: One of so many goes on at a rung.
    """

    metric: str | Objective | Sequence[str | Objective] = ()
    grace: int | None = None
    factor: int = 3

    def __post_init__(self) -> None:
        if not require_types(self):
            return
        if self.grace is not None:
            require_positive(self, "grace")
        require_positive(self, "factor")
        if self.factor < 2:
            message = f"{caller('factor')}Asha: factor = {self.factor} is not allowed"
            refuse([SweepFileError(message, "allowed: an int >= 2")])
            take_default(self, "factor")

    def rungs(self, epochs: int) -> list[int]:
        """Return the epochs after which trials of ``epochs`` are compared; empty for none."""
        rung = self.grace or -(-epochs // self.factor**REDUCTIONS)
        rungs = []
        while rung < epochs:
            rungs.append(rung)
            rung *= self.factor
        return rungs

    def epochs_trained(self, configs: int, epochs: int) -> int:
        """Return about how many epochs so many configs train together."""
        trained, before = 0, 0
        for end in [*self.rungs(epochs), epochs]:
            trained += configs * (end - before)
            configs, before = max(1, configs // self.factor), end
        return trained

    def least_share(self, epochs: int) -> float:
        """Return the least part of a whole training that a mean trial takes."""
        share, left, before = 0.0, 1.0, 0
        for end in [*self.rungs(epochs), epochs]:
            share += left * (end - before) / epochs
            left, before = left / self.factor, end
        return share

    @property
    def metrics(self) -> tuple[str | Objective, ...]:
        """Return the metrics that are stated, however many."""
        if isinstance(self.metric, str | Objective):
            return (self.metric,)
        return tuple(self.metric)

    def unknown(self, objectives: Sequence[Objective]) -> list[str]:
        """Return the names stated that are no objective of the sweep."""
        known = {objective.metric for objective in objectives if objective.bound is None}
        return [each for each in self.metrics if isinstance(each, str) and each not in known]

    def aim(self, objectives: Sequence[Objective]) -> Aim:
        """Return what trials are compared by, given the sweep's objectives."""
        goals = {o.metric: o for o in objectives if o.bound is None}
        stated = [goals[each] if isinstance(each, str) else each for each in self.metrics]
        bounds = [objective for objective in objectives if objective.bound is not None]
        return Aim(goals=stated or list(goals.values()), bounds=bounds)

    def start(self, search: Search, problem: SearchProblem) -> Search:
        """Return ``search`` with trials that end early."""
        rungs = self.rungs(problem.budget.epochs)
        halving = Halving(aim=self.aim(problem.objectives), rungs=rungs, factor=self.factor)
        return EndingSearch(search, problem, halving)
