"""A sweep: one question about a trainable, and the way to its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from msgspec import Meta

from orchestrator.errors import SweepFileError, refuse
from orchestrator.field_types import shown
from orchestrator.kernel.parts import Tracker
from orchestrator.kernel.search import SearchSpec
from orchestrator.locations import caller
from orchestrator.machine import Constraint
from orchestrator.metrics import (
    MAX_OBJECTIVES,
    Objective,
    Published,
    at_least,
    is_accuracy,
    is_learned,
    maximize,
)
from orchestrator.rules import Rule
from orchestrator.search.grid import Grid
from orchestrator.search.stopping import Asha
from orchestrator.space.configs import domains_of, values_of
from orchestrator.sweep.rigor import RigorField, with_old_fields
from orchestrator.trainable import Trainable, is_config_class
from orchestrator.trial import Budget, Isolation

C = TypeVar("C")

MAX_SEED: Final = 2**31 - 1


class Cores(Enum):
    """A share of a node that is named rather than counted."""

    NODE = "node"


NODE: Final = Cores.NODE
"""Cores per trial: the whole node, or its part per GPU."""

_OBJECTIVES: Final = (maximize("samples_per_s"), maximize("val_acc"))
"""Objectives where none are given, and the trainable names no other reports."""


_Count = Annotated[int, Meta(ge=1, description="an int >= 1")]
_SomeSteps = Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="an int >= 1, or None")]
_Memory = Annotated[
    Annotated[float, Meta(gt=0, le=1e9)] | None, Meta(description="GiB > 0, or None")
]
_Fraction = Annotated[float, Meta(ge=0, le=1, description="a fraction of 1")]
_Price = Annotated[float, Meta(ge=0, le=1e9, description="a number >= 0")]
_Seconds = Annotated[float, Meta(gt=0, le=1e9, description="seconds > 0")]
_Seed = Annotated[int, Meta(ge=0, le=MAX_SEED, description=f"an int >= 0 and <= {MAX_SEED}")]


def _default_objectives(trainable: Trainable[Any]) -> Sequence[Objective]:
    """Return what a sweep improves by default: speed, and the first accuracy that is reported.

    A function that times itself has its reports alone: these, speeds first.
    """
    own = [each for each in trainable.reports if not each.metric.startswith("test_")]
    if trainable.times_itself:
        return sorted(own, key=lambda each: is_learned(each.metric))[:MAX_OBJECTIVES]
    speed, accuracy = _OBJECTIVES
    named = [each for each in own if each.metric == accuracy.metric]
    accuracies = [each for each in own if is_accuracy(each.metric)]
    return speed, next(iter([*named, *accuracies, *own]), accuracy)


@dataclass(frozen=True)
class Sweep(Generic[C]):
    """One question, stated in a file under ``sweeps/`` as a module-level ``SWEEP``.

    Attributes:
        trainable: The model and its training.
        question: The question, one sentence.
        space: A config in which the knobs that vary have domains; or a mapping of them.
        baseline: The config that speed-ups are counted from. Default: the defaults.
        epochs: Training budget of a trial.
        steps: Limit of optimizer steps, if any.
        objectives: The metrics to improve: speed first, then what it must not cost. One, two or
            three, none of them measured on test data; ``at_least`` and ``at_most`` are conditions.
            Default: the speed, and ``val_acc`` where the trainable reports it, else the first
            accuracy that it does, else the first of its figures.
        rule: The rule that a config is recommended by, of :mod:`orchestrator.rules`, or a function
            of the table of configs that returns the index or the row of one. None:
            ``fastest_within()``.
        target: What ``time_to_accuracy_s`` and ``goodput`` are counted to: a value of the accuracy,
            ``at_least("val_acc", 0.97)``, or ``maximize("val_acc", tolerance=0.005)``: so near to
            the best. None: ``rigor.accuracy_tolerance`` below the best.
        prices: Price of a ``cpu_hour`` (an hour of one core) and of a ``gpu_hour``; with them each
            trial has a figure ``cost``.
        search: The search that picks configs of the space.
        stopping: What ends trials of the search early: ``Asha("val_acc")``. None: nothing, all
            are trained in full.
        data: Name of the data set. Default: the trainable's first one.
        embedded_data: Set to run on where ``data`` is absent. None: stop instead.
        cores_per_trial: Cores of every trial, whatever its config.
        isolation: Isolation of trials from each other.
        rigor: Runs, margins and limits that the answer rests on: a :class:`Rigor`, or the name of
            a preset, ``"quick"``, ``"standard"`` or ``"thorough"``.
        memory_per_trial_gib: A trial that takes more memory is infeasible.
            Default: its share of the node's, by its cores.
        trial_s: Seconds that a trial takes, by the name of the data set, as last seen. The plan's
            expected time rests on them until there are earlier trials.
        constraints: Reasons against configs, which are then neither tried nor in the table.
        published: A study's figures, shown next to ours on the same data set.
        trackers: What else is written while trials run: ``Csv()``, ``TensorBoard()``, your own.
        seed: Seed of the plan and, plus the repeat, of every trial.
    """

    trainable: Trainable[C]
    _: KW_ONLY
    question: str
    space: C | Mapping[str, Any]
    baseline: C | Mapping[str, Any] | None = None
    epochs: _Count = 1
    steps: _SomeSteps = None
    objectives: Sequence[Objective] = _OBJECTIVES
    rule: Rule | None = None
    target: _Fraction | Objective | None = None
    prices: Mapping[str, _Price] = field(default_factory=dict)
    search: SearchSpec = field(default_factory=Grid)
    stopping: Asha | None = None
    data: str = ""
    embedded_data: str | None = None
    cores_per_trial: _Count | Literal[Cores.NODE] = NODE
    isolation: Isolation = Isolation.LEASED
    rigor: RigorField = RigorField()  # noqa: RUF009 - a descriptor
    memory_per_trial_gib: _Memory = None
    trial_s: Mapping[str, _Seconds] = field(default_factory=dict)
    constraints: Sequence[Constraint[C]] = ()
    published: Sequence[Published] = ()
    trackers: Sequence[Tracker] = ()
    seed: _Seed = 0

    def __post_init__(self) -> None:
        if not isinstance(self.trainable, Trainable):
            named = getattr(self.trainable, "__name__", shown(self.trainable))
            message = f"{caller('trainable')}trainable = {named} is not allowed"
            refuse([SweepFileError(message, "allowed: a Trainable: Trainable(train, Config)")])
            return
        if not is_config_class(self.trainable.config):
            return  # the trainable has refused it
        of_sweep = self.trainable.for_sweep(self.space, self.baseline)
        for name, value in zip(("trainable", "space", "baseline"), of_sweep, strict=True):
            object.__setattr__(self, name, value)
        if self.objectives is _OBJECTIVES:
            object.__setattr__(self, "objectives", _default_objectives(self.trainable))

    @property
    def aim(self) -> Objective:
        """Return the target as an objective: with a bound, or with a tolerance of the best."""
        if isinstance(self.target, Objective):
            return self.target
        own = [o for o in self.objectives if is_accuracy(o.metric)] or [maximize("val_acc")]
        return own[0] if self.target is None else at_least(own[0].metric, self.target)

    @property
    def budget(self) -> Budget:
        """Return the budget of a trial."""
        return Budget(epochs=self.epochs, steps=self.steps, half_width=self.rigor.half_width)

    @property
    def search_text(self) -> str:
        """Return the search as Python writes it, and what ends its trials early."""
        return ", ".join(repr(each) for each in (self.search, self.stopping) if each is not None)

    @property
    def least_share(self) -> float:
        """Return the least part of a whole training that a mean trial of the search takes."""
        return 1.0 if self.stopping is None else self.stopping.least_share(self.epochs)

    @property
    def fixed(self) -> dict[str, Any]:
        """Return the values of the knobs that do not vary."""
        varied = domains_of(self.space)
        return {name: value for name, value in values_of(self.space).items() if name not in varied}


Sweep.__init__ = with_old_fields(Sweep.__init__)  # type: ignore[method-assign]
