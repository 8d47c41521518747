"""``from_optuna``: a trainable of an Optuna objective."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.errors import SweepFileError, refuse
from orchestrator.execution.ray.functions.training import own_function
from orchestrator.locations import caller
from orchestrator.metrics import Objective
from orchestrator.search.suggested import VALUES, Suggested
from orchestrator.space.configs import built, make_config_class
from orchestrator.space.knob import Knob, Role
from orchestrator.trainable import Demand, Trainable, kind_of

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run


def from_optuna(
    objective: Callable[[Any], Any], *, reports: Sequence[Objective], gpus: int = 0, name: str = ""
) -> Trainable[Any]:
    """Make a trainable of an Optuna objective: ``def objective(trial): ... return loss``.

    It runs once a trial, in a process of its own, with a ``trial`` of Optuna. A sweep of it has
    ``space={}`` and ``search=Optuna(n)``. Its suggestions are one knob, ``values``, in JSON, with
    the role ``both``. ``trial.report`` is a report of the trial, and ``trial.should_prune`` is true
    once the sweep stops it. Numbers of ``trial.set_user_attr`` are figures.

    Args:
        objective: Called with a trial alone; it suggests the same where values are the same.
        reports: Metrics that it returns, in this order; the first is what ``trial.report`` gets.
            ``minimize("time_total_s")``, the time of the call, is added where it is named.
        gpus: GPUs that it uses.
        name: Defaults to the objective's name.

    Raises:
        SweepFileError: It is another kind of function, or there is no metric.
    """
    if (kind := kind_of(objective)) not in ("", "from_optuna"):
        named = getattr(objective, "__name__", type(objective).__name__)
        text = f"{caller()}from_optuna: {named} is no function of a trial"
        raise SweepFileError(text, f"allowed: def objective(trial); this one is taken by {kind}")
    if not reports:
        message = f"{caller('reports')}from_optuna: no metric is named"
        raise SweepFileError(message, 'allowed: reports=[minimize("value")]')
    training = OptunaTraining(objective, reports, name)
    demand = Demand(gpus=gpus)
    return Trainable(
        training,
        training.config_class,
        reports=reports,
        demand=lambda _config, _machine: demand,
        preload=("torch", "optuna"),
        name=training.name,
    )


class OptunaTraining:
    """Call of an objective; the arguments are those of :func:`from_optuna`.

    Attributes:
        name: Its name.
        config_class: Config class of the one knob.
    """

    def __init__(
        self, objective: Callable[[Any], Any], reports: Sequence[Objective], name: str
    ) -> None:
        self._objective, self._metrics = objective, [each.metric for each in reports]
        self.__wrapped__ = own = own_function(objective)
        self.__module__ = own.__module__ or "builtins"
        own_name = getattr(own, "__name__", type(own).__name__)
        self.name = name or own_name.replace("<lambda>", "objective")
        knob = Knob(type=str, default="{}", role=Role.BOTH, doc="what it suggests")
        self.config_class = make_config_class(f"{self.name}_config", {VALUES: knob})

    def fitted(
        self, space: Mapping[str, Any], baseline: Mapping[str, Any] | None
    ) -> tuple[type, Any, Any]:
        """Return the config class, the space of all suggestions and a baseline of values."""
        if space:
            text = f"{caller('space')}space: {self.name} suggests its own values"
            refuse([SweepFileError(text, "allowed: space={}")])
        start = self.config_class(**{VALUES: json.dumps(dict(baseline or {}))})
        return self.config_class, built(self.config_class, {VALUES: Suggested()}), start

    def __call__(self, config: Any, run: Run) -> None:  # noqa: ANN401 - of a class made here
        """Run the objective once."""
        from orchestrator.wrappers.optuna_trial import run_objective  # it imports Optuna and torch

        run_objective(self._objective, getattr(config, VALUES), run, self._metrics)
