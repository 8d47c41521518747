"""Trainable: a training function with its config class, data sets and demands."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from orchestrator.data import DataSet
from orchestrator.errors import SweepError, SweepFileError, nearest, refuse
from orchestrator.field_types import shown, wrong_fields
from orchestrator.locations import caller, place_of
from orchestrator.machine import Constraint, Machine, answer_of, objection
from orchestrator.metrics import Objective

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
        gpus: GPUs over all ranks. For a single rank also a part of one, by NVIDIA's MPS: with
            ``0.25`` four trials share a GPU, each with a quarter of its processors and memory.
        workers: Loader processes of each rank.
        burst: Steps after which a loader's pattern repeats: workers times prefetch factor, with
            workers at least 2. A loader of PyTorch has it itself; state it for another one.
        allocator: ``default``, ``tuned`` or ``jemalloc``; set before the process starts.
    """

    ranks: int = 1
    nodes: int = 1
    gpus: float = 0
    workers: int = 0
    burst: int = 1
    allocator: str = "tuned"

    def __post_init__(self) -> None:
        for name, least in _LEAST:  # quick, since plans make a million
            count = getattr(self, name)
            is_part = name == "gpus" and self.shares_gpu
            if not is_part and (type(count) is not int or not least <= count <= _MOST):
                message = f"Demand: {name} = {shown(count)} is not allowed"
                raise SweepFileError(message, f"allowed: an int >= {least} and <= {_MOST}")
        if self.allocator not in ALLOCATORS:
            close = nearest(shown(self.allocator), ALLOCATORS)
            message = f"Demand: allocator = {shown(self.allocator)} is not allowed{close}"
            raise SweepFileError(message, f"allowed: {', '.join(ALLOCATORS)}")

    @property
    def shares_gpu(self) -> bool:
        """True for a part of a GPU."""
        return type(self.gpus) is float and 0 < self.gpus < 1

    def beyond(self, machine: Machine) -> str | None:
        """Return why no node of a machine has room for it, or None."""
        if self.shares_gpu and self.ranks > 1:
            return f"needs {self.gpus:g} GPUs for {self.ranks} ranks: one rank shares a GPU"
        if self.shares_gpu and machine.gpus and not machine.has_mps:
            return f"needs {self.gpus:g} GPUs: to share one takes NVIDIA's MPS, which is not here"
        for what, count in (("ranks", self.ranks), ("GPUs", self.gpus)):
            if not self.shares_gpu and count % self.nodes:
                return f"needs {self.nodes} nodes, over which {count} {what} cannot be divided"
        if self.nodes > max(len(machine.nodes), 1):
            have = f"there are {len(machine.nodes)}"
            return f"needs {self.nodes} nodes, {have}; --address names a cluster"
        ranks, gpus = self.ranks // self.nodes, self.gpus / self.nodes
        cores = f"the largest node has {machine.cpus} cores"
        if gpus > machine.gpus:
            return f"needs {gpus:g} GPUs, the largest node has {machine.gpus}"
        if ranks > max(machine.cpus, gpus, 1):
            return f"needs {ranks} ranks, {cores}: each rank is a process that computes"
        if (num_workers := ranks * self.workers) > MOST_WORKERS_A_CORE * machine.cpus:
            return f"needs {num_workers} loader processes, {cores}"
        return None


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
            ``run.restore`` at its start, so that a trial can pause and resume later.
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
        found = [(each.field, f"{each} is not allowed") for each in wrong_fields(self)]
        problems: list[SweepError] = [
            SweepFileError(f"{caller(field)}Trainable: {text}", f"allowed: {_ALLOWED[field]}")
            for field, text in found or _findings(self)
        ]
        refuse(problems)
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

    @property
    def times_itself(self) -> bool:
        """True for a function of Ray Tune: no figure is measured, all come from its reports."""
        return hasattr(self.train, "fitted")

    def for_sweep(
        self, space: C | Mapping[str, Any], baseline: C | Mapping[str, Any] | None
    ) -> tuple[Trainable[C], C, C]:
        """Return the trainable, the space and the baseline of a sweep, mappings made configs.

        Args:
            space: A config with domains, or a mapping of domains and values by knob.
            baseline: A config, or a mapping of values by knob; None: the defaults.
        """
        if self.times_itself and isinstance(space, Mapping):
            config_class, *configs = cast(Any, self.train).fitted(space, baseline)
            return (replace(self, config=config_class), *configs)
        # None is no space and refused; it is not the space in which nothing varies.
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
        demand = answer_of(self.demand, "demand", config, machine)
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


# -- checks of the fields, where a trainable is declared

_ALLOWED: Final = {
    "train": "a function of a config and a run: def train(config, run); one written for Ray Tune "
    "is taken by from_ray",
    "config": "a class made with @knobs",
    "data": "a list of data sets",
    "reports": 'a list of metrics with their directions: [maximize("val_acc")]',
    "constraints": "a list of functions of a config and a machine",
    "demand": "a function of a config and a machine that returns a Demand(...)",
    "preload": 'a list of names of modules: ["torch"]',
    "keeps_checkpoints": "True or False",
    "warm": "True or False",
    "name": "a str",
}
"""Allowed values of each field of a trainable."""


def kind_of(function: Any) -> str:  # noqa: ANN401 - whatever a user gives
    """Return the name of what takes a function of this form or a command; empty where unknown."""
    if isinstance(function, str):
        return "from_script"
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not callable, or in C
        return ""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = {each.name: each.default for each in parameters if each.kind not in several}
    required = [name for name, default in named.items() if default is inspect.Parameter.empty]
    if required in (["trial"], ["config"]):
        return "from_optuna" if required == ["trial"] else "from_ray"
    return "from_function" if named and not required and "config" not in named else ""


def is_config_class(config: object) -> bool:
    """Return True for a class that ``@knobs`` has made."""
    return isinstance(config, type) and "__knobs__" in vars(config)


def _findings(trainable: Trainable[Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with fields of the right types, each after the field's name."""
    if problem := _problem_of_train(trainable.train):
        yield "train", problem
    if not is_config_class(trainable.config):
        yield "config", f"config = {trainable.config.__name__} has no knobs"
    names = [objective.metric for objective in trainable.reports]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield "reports", f"reports[{number}] names {shown(name)} a second time"
    for number, data in enumerate(trainable.data):
        for name in ("name", "at", "present", "name_in", "prepare"):
            if isinstance(data, type) or not hasattr(data, name):
                yield "data", f"data[{number}] = {shown(data)} is no data set with {name}"
                break


def _problem_of_train(train: Any) -> str:  # noqa: ANN401 - any function
    """Return why a call of a function would not train, or an empty string."""
    shown_as = f"train = {getattr(train, '__name__', type(train).__name__)}"
    if isinstance(train, type):
        return f"{shown_as} is a class"
    try:
        inspect.signature(train, follow_wrapped=False).bind(None, None)
    except TypeError:
        return f"{shown_as} cannot be called with a config and a run"
    except ValueError:  # of a function in C
        return ""
    return ""
