"""``from_ray``: a trainable of an existing Ray Tune function or class."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

from orchestrator.data import DataSet
from orchestrator.errors import SweepFileError, refuse
from orchestrator.execution.ray.functions.session import Stop
from orchestrator.execution.ray.functions.training import RayTraining, own_function
from orchestrator.field_types import shown
from orchestrator.locations import caller
from orchestrator.machine import Constraint, Machine
from orchestrator.metrics import Objective
from orchestrator.trainable import Demand, Trainable, kind_of


def from_ray(
    function: Callable[..., Any],
    *,
    config: Mapping[str, Any],
    reports: Sequence[Objective] = (),
    demand: Callable[[dict[str, Any], Machine], Demand] | None = None,
    constraints: Sequence[Constraint[dict[str, Any]]] = (),
    data: Sequence[DataSet] = (),
    data_key: str = "data_path",
    preload: Sequence[str] = (),
    gpus: int = 0,
    stop: Stop | None = None,
    keeps_checkpoints: bool = False,
    warm: bool = False,
    name: str = "",
) -> Trainable[Any]:
    """Make a trainable of an existing Ray Tune function or class.

    It runs to its own end, once for each trial, in a fresh process; ``tune.report``,
    ``tune.get_checkpoint`` and ``tune.get_context`` work in it. Every value of its config, nested
    ones as ``outer/inner``, is a knob with role ``both``, since nothing more is known of it.

    Args:
        function: Takes Ray Tune's ``config`` dictionary; or a class derived from ``Trainable``.
        config: A default for every key that it reads, of any type; or Ray Tune's ``param_space``.
            A value with a domain varies unless the sweep's space overrides it.
        reports: Metrics that it reports, with their directions.
        demand: Ranks, GPUs, workers and allocator; called with the dictionary and the machine.
        constraints: Conditions that make a config infeasible, called likewise.
        data: Data sets that it can be trained on; the first one is the default.
        data_key: Key under which the config then has the folder of the prepared set.
        preload: Modules that every training process needs, besides torch and Ray Tune.
        gpus: GPUs that it uses. Default: those that ``tune.with_resources`` gave it.
        stop: As in Ray Tune's ``RunConfig``: by metric, the least value that ends a training; a
            function of the trial's id and the result; or stoppers, which see this trial alone. A
            class needs it: ``{"training_iteration": 10}``, or ``{}`` if ``step()`` returns done.
        keeps_checkpoints: True where it reports a checkpoint each time and continues from
            ``tune.get_checkpoint()``, and for a class that can be saved and loaded: its trials can
            then pause, after so many reports.
        warm: True where its module is imported once a node; see
            :class:`~orchestrator.trainable.Trainable`.
        name: Defaults to the function's name.

    Raises:
        SweepFileError: It cannot be called with a config, is a class without ``stop``, or asks for
            a part of a GPU; ``stop`` is not allowed.
        KnobError: A value of ``config`` is not allowed.
    """
    if problem := _problem(function, config, stop):
        raise SweepFileError(f"{caller()}from_ray: {problem[0]}", problem[1])
    if demand is not None and gpus:
        message = f"{caller('gpus')}from_ray: gpus = {gpus} with a demand"
        refuse([SweepFileError(message, "let the demand return them: Demand(gpus=...)")])
    own = own_function(function)
    title = name or getattr(own, "__name__", type(own).__name__).replace("<lambda>", "function")
    training = RayTraining(
        function=function,
        name=title,
        defaults={key: value for key, value in config.items() if not data or key != data_key},
        reports=reports,
        stop={} if stop is None else stop,
        data_key=data_key if data else "",
        keeps_checkpoints=keeps_checkpoints,
    )
    refuse(list(training.param_space.problems.values()))
    return Trainable(
        training,
        training.param_space.config_class,
        data=data,
        reports=reports,
        constraints=[OnDictionary(each) for each in constraints],
        demand=OnDictionary(demand or _own_demand(function, gpus)),
        preload=("torch", *preload, "ray.tune"),
        keeps_checkpoints=keeps_checkpoints,
        warm=warm,
        name=title,
    )


def _problem(function: Any, config: object, stop: Any) -> tuple[str, str] | None:  # noqa: ANN401
    """Return what is wrong and what to do: what Ray Tune would not run, or what would never end."""
    name = getattr(function, "__name__", type(function).__name__)
    if isinstance(function, type):
        if not any(base.__module__.startswith("ray.tune.trainable") for base in function.__mro__):
            hint = "give a function that makes one, trains it and calls tune.report"
            return f"{name} is a class that is not derived from Ray Tune's Trainable", hint
        if stop is None:
            hint = (
                'give its end, as in RunConfig: stop={"training_iteration": 10}; or stop={} '
                "where step() returns done=True"
            )
            return f"{name} is a class, which trains step by step without an end", hint
    else:
        try:
            inspect.signature(function).bind({})
        except TypeError as error:
            hint = "give a function of one argument: functools.partial binds the others"
            return f"{name} cannot be called with a config alone: {error}", hint
        if (kind := kind_of(function)) not in ("", "from_ray"):
            return f"{name} is no function of a dictionary", f"it is taken by {kind}"
    if not isinstance(config, Mapping):
        return f"config = {shown(config)} is not allowed", "allowed: a dictionary of defaults"
    return None if stop is None else _problem_of_stop(stop)


def _problem_of_stop(stop: Any) -> tuple[str, str] | None:  # noqa: ANN401 - whatever a user gives
    if isinstance(stop, Mapping):
        is_allowed = all(isinstance(value, Number) for value in stop.values())
    else:
        is_allowed = all(map(callable, stop if isinstance(stop, (list, tuple)) else [stop]))
    hint = (
        'allowed: numbers by metric, {"training_iteration": 10, "val/acc": 0.9}; a function of '
        "trial_id and result; a stopper of Ray Tune's, or a list of stoppers"
    )
    return None if is_allowed else (f"stop = {shown(stop)} is not allowed", hint)


class OnDictionary:
    """A function of the dictionary and a machine, called with a config."""

    def __init__(self, function: Callable[[dict[str, Any], Machine], Any]) -> None:
        self._function = function
        self.__code__ = getattr(function, "__code__", None)  # for messages that name its place

    def __call__(self, config: Any, machine: Machine) -> Any:  # noqa: ANN401 - any config, answer
        """Return the function's answer."""
        return self._function(type(config).__param_space__.dictionary(config), machine)


def _own_demand(function: Any, gpus: int) -> Callable[[dict[str, Any], Machine], Demand]:  # noqa: ANN401
    """Return the demand of ``tune.with_resources`` or of a class: whole GPUs, or ``gpus`` instead.

    Cores are the sweep's, the same for every config.
    """
    asked = getattr(function, "_resources", None)
    if isinstance(function, type):
        asked = function.default_resource_request  # type: ignore[attr-defined]
    if callable(asked) and not hasattr(asked, "bundles") and not gpus:
        return lambda config, _machine: Demand(gpus=_whole_gpus(asked(config)))
    demand = Demand(gpus=gpus or _whole_gpus(asked))
    return lambda _config, _machine: demand


def _whole_gpus(resources: Any) -> int:  # noqa: ANN401 - Ray's own class, or a dictionary
    if isinstance(resources, Mapping):
        asked = resources.get("gpu", 0)
    else:
        asked = getattr(resources, "required_resources", {}).get("GPU", 0)
    if asked != int(asked):
        message = f"{caller()}from_ray: it asks for {asked:g} GPUs"
        raise SweepFileError(message, "give it whole ones, by tune.with_resources or gpus=...")
    return int(asked)
