"""Trainable: a training function with its config class, data sets and demands."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, runtime_checkable

from orchestrator.constraints import Constraint, objection
from orchestrator.data import DataSet
from orchestrator.errors import SweepError, SweepFileError, nearest, refuse
from orchestrator.field_types import shown
from orchestrator.locations import place_of
from orchestrator.machine import Machine
from orchestrator.metrics import Objective
from orchestrator.texts import described
from orchestrator.trainable_checks import trainable_problems

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run

C = TypeVar("C")

IF_POSSIBLE = "?"
"""Before the name of a module that a fork server may do without."""
ALLOCATORS: Final = ("default", "tuned", "jemalloc")
_LEAST: Final = (("ranks", 1), ("nodes", 1), ("gpus", 0), ("workers", 0), ("burst", 1))
_MOST: Final = 1_000_000
"""Least and most of each count of a demand."""
MOST_WORKERS_A_CORE: Final = 32
"""Loader processes of a trial for each core of its node: more would only fill its memory."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Demand of a config on the machine.

    Attributes:
        ranks: Training processes, one for each shard of a DDP trial.
        nodes: Nodes of a cluster that they are on, as many ranks on each. Each node gives the
            cores of a trial, so that a trial of two nodes has twice as many.
        gpus: GPUs over all ranks.
        workers: Loader processes of each rank.
        burst: Steps after which a loader's pattern repeats: workers times prefetch factor, with
            workers at least 2. A loader of PyTorch's says it itself; state it for another one.
        allocator: ``default``, ``tuned`` or ``jemalloc``; set before the process starts.
    """

    ranks: int = 1
    nodes: int = 1
    gpus: int = 0
    workers: int = 0
    burst: int = 1
    allocator: str = "tuned"

    def __post_init__(self) -> None:
        if (problem := self._problem()) is not None:
            raise SweepFileError(*problem)

    def _problem(self) -> tuple[str, str] | None:
        """Return what is wrong with it, and what is allowed; quick, since plans make a million."""
        for name, least in _LEAST:
            count = getattr(self, name)
            if type(count) is not int or not least <= count <= _MOST:
                message = f"Demand: {name} = {shown(count)} is not allowed"
                return message, f"allowed: an int >= {least} and <= {_MOST}"
        if type(self.allocator) is str and self.allocator in ALLOCATORS:
            return None
        close = nearest(shown(self.allocator), ALLOCATORS)
        message = f"Demand: allocator = {shown(self.allocator)} is not allowed{close}"
        return message, f"allowed: {', '.join(ALLOCATORS)}"

    def beyond(self, machine: Machine) -> str | None:
        """Return why no node of a machine can hold it, or None."""
        cores = f"the largest node has {machine.cpus} core{'s' * (machine.cpus != 1)}"
        if self.nodes > 1:
            return self._beyond_nodes(machine)
        if self.gpus > machine.gpus:
            asked = f"{self.gpus} GPU{'s' * (self.gpus > 1)}"
            return f"needs {asked}, the largest node has {machine.gpus}"
        if self.ranks > max(machine.cpus, self.gpus, 1):
            return f"needs {self.ranks} ranks, {cores}: each rank is a process that computes"
        if (num_workers := self.ranks * self.workers) > MOST_WORKERS_A_CORE * machine.cpus:
            return f"needs {num_workers} loader processes, {cores}"
        return None

    def _beyond_nodes(self, machine: Machine) -> str | None:
        """Return why several nodes of a machine cannot hold it, or None."""
        for what, count in (("ranks", self.ranks), ("GPUs", self.gpus)):
            if count % self.nodes:
                return f"needs {self.nodes} nodes, over which {count} {what} cannot be divided"
        if self.nodes > (num_nodes := len(machine.nodes)):
            have = f"there {'is' if num_nodes == 1 else 'are'} {num_nodes}"
            return f"needs {self.nodes} nodes, {have}; --address names a cluster"
        ranks, gpus = self.ranks // self.nodes, self.gpus // self.nodes
        return replace(self, nodes=1, ranks=ranks, gpus=gpus).beyond(machine)


def _no_demand(_config: Any, _machine: Machine) -> Demand:  # noqa: ANN401 - any config class
    return Demand()


@runtime_checkable
class FitsSpaces(Protocol):
    """A training function whose config class is made for the values of a sweep's space."""

    def fitted(
        self,
        space: Mapping[str, Any],
        baseline: Any,  # noqa: ANN401 - a config, a mapping or None
    ) -> tuple[type, Any, Any]:
        """Return the config class of a sweep, its space and its baseline."""


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
        refuse(trainable_problems(self))
        if not self.name:
            module = getattr(self.train, "__module__", None) or ""
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

    def for_sweep(
        self, space: C | Mapping[str, Any], baseline: C | Mapping[str, Any] | None
    ) -> tuple[Trainable[C], C, C]:
        """Return the trainable, the space and the baseline of a sweep, mappings made configs.

        Args:
            space: A config with domains, or a mapping of domains and values by knob.
            baseline: A config, or a mapping of values by knob; None: the defaults.
        """
        if isinstance(self.train, FitsSpaces) and isinstance(space, Mapping):
            config_class, *configs = self.train.fitted(space, baseline)
            fitted = copy.copy(self)
            object.__setattr__(fitted, "config", config_class)
            return (fitted, *configs)
        # No space is none, which is refused, and not that of a sweep in which nothing varies.
        return self, space if space is None else self._as_config(space), self._as_config(baseline)

    def _as_config(self, given: C | Mapping[str, Any] | None) -> C:
        if given is None or isinstance(given, Mapping):
            return self.config(**{str(knob): value for knob, value in (given or {}).items()})
        return given

    def demand_of(self, config: C, machine: Machine) -> Demand:
        """Return the demand of ``config`` on ``machine``.

        Raises:
            SweepFileError: ``demand`` raises, or returns something else than a demand.
        """
        try:
            demand = self.demand(config, machine)
        except SweepError as error:
            message = f"{place_of(self.demand)}: {error.message}, for {shown(config)}"
            raise SweepFileError(message, error.hint) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = f"{place_of(self.demand)}: demand raised {described(error)}"
            raise SweepFileError(raised, f"for {shown(config)}") from error
        if not isinstance(demand, Demand):
            raise SweepFileError(
                f"{place_of(self.demand)}: demand returned {shown(demand)}", "allowed: Demand(...)"
            )
        return demand

    def infeasible(self, config: C, machine: Machine) -> str | None:
        """Return the first reason for which ``config`` cannot run on ``machine``, or None.

        Raises:
            SweepFileError: A constraint or ``demand`` raises, or returns a value of a wrong type.
        """
        if reason := self.demand_of(config, machine).beyond(machine):
            return reason
        reasons = (objection(constraint, config, machine) for constraint in self.constraints)
        return next((reason for reason in reasons if reason), None)
