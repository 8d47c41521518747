"""Trainable: a training function with its config class, data sets and demands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from orchestrator.constraints import Constraint, objection
from orchestrator.data import DataSet
from orchestrator.errors import SweepFileError
from orchestrator.locations import place_of
from orchestrator.machine import Machine
from orchestrator.metrics import Objective

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run

C = TypeVar("C")

IF_POSSIBLE = "?"
"""Before the name of a module that a fork server may do without."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Demand of a config on the machine.

    Attributes:
        ranks: Training processes, one for each shard of a DDP trial.
        gpus: GPUs over all ranks.
        workers: Loader processes of each rank.
        burst: Steps after which a loader's pattern repeats: workers times prefetch factor.
        allocator: ``default``, ``tuned`` or ``jemalloc``; set before the process starts.
    """

    ranks: int = 1
    gpus: int = 0
    workers: int = 0
    burst: int = 1
    allocator: str = "tuned"


def _no_demand(_config: Any, _machine: Machine) -> Demand:  # noqa: ANN401 - any config class
    return Demand()


@dataclass(frozen=True)
class Trainable(Generic[C]):
    """Training function with its knobs, data sets, constraints and demands.

    Attributes:
        train: Called with a config and a :class:`~orchestrator.measurement.run.Run` in
            every rank's own process.
        config: The config class, made with ``@knobs``.
        data: Data sets it can be trained on; the first one is the default.
        reports: Metrics that ``train`` reports, with their directions.
        constraints: Conditions that make a config infeasible.
        demand: Ranks, GPUs, workers and allocator of a config on a machine.
        preload: Modules that every training process needs, imported once a node. None
            of them may start threads or touch a GPU when imported.
        keeps_checkpoints: True where ``train`` calls ``run.checkpoint`` after each epoch and
            ``run.restore`` at its start, so that a trial can pause and go on later.
        warm: True where the module of ``train`` is imported once a node, too, and not by each
            training process. So it must not start threads or touch a GPU when imported either.
        name: Defaults to the module's last part.
    """

    train: Callable[[C, Run], None]
    config: type[C]
    data: Sequence[DataSet] = ()
    reports: Sequence[Objective] = ()
    constraints: Sequence[Constraint[C]] = ()
    demand: Callable[[C, Machine], Demand] = _no_demand
    preload: Sequence[str] = ("torch", "torch._dynamo")
    keeps_checkpoints: bool = False
    warm: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            module = self.train.__module__
            if module == "__main__":
                spec = sys.modules["__main__"].__spec__
                module = spec.name if spec is not None else self.train.__name__
            object.__setattr__(self, "name", module.rpartition(".")[2])

    @property
    def imports(self) -> tuple[str, ...]:
        """Modules that fork servers import, in order.

        The trainable's own may be one that only a process of its sweep file finds.
        """
        module = self.train.__module__
        is_warm = self.warm and module != "__main__"
        return (*self.preload, *([IF_POSSIBLE + module] if is_warm else []))

    def demand_of(self, config: C, machine: Machine) -> Demand:
        """Return the demand of ``config`` on ``machine``.

        Raises:
            SweepFileError: ``demand`` raises, or returns something else than a demand.
        """
        try:
            demand = self.demand(config, machine)
        except Exception as error:
            raised = f"demand raised {type(error).__name__}: {error}"
            raise SweepFileError(f"{place_of(self.demand)}: {raised}", f"for {config!r}") from error
        if not isinstance(demand, Demand):
            raise SweepFileError(
                f"{place_of(self.demand)}: demand returned {demand!r}", "allowed: Demand(...)"
            )
        return demand

    def infeasible(self, config: C, machine: Machine) -> str | None:
        """Return the first reason for which ``config`` cannot run on ``machine``, or None.

        Raises:
            SweepFileError: A constraint or ``demand`` raises, or returns a value of a wrong type.
        """
        demand = self.demand_of(config, machine)
        if demand.gpus > machine.gpus:
            asked = f"{demand.gpus} GPU{'s' * (demand.gpus > 1)}"
            return f"needs {asked}, the largest node has {machine.gpus}"
        reasons = (objection(constraint, config, machine) for constraint in self.constraints)
        return next((reason for reason in reasons if reason), None)
