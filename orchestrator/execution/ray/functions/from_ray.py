"""``from_ray``: a trainable of an existing Ray Tune function or class."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.constraints import Constraint
from orchestrator.data import DataSet
from orchestrator.errors import SweepFileError, refuse
from orchestrator.execution.ray.functions.resources import OnDictionary, OwnResources
from orchestrator.execution.ray.functions.stopping import Stop, problem_of
from orchestrator.execution.ray.functions.training import RayTraining, own_function
from orchestrator.field_types import shown
from orchestrator.locations import caller
from orchestrator.machine import Machine
from orchestrator.metrics import Objective
from orchestrator.trainable import Demand, Trainable


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

    It runs to its own end, once for each trial, in a process of its own; ``tune.report``,
    ``tune.get_checkpoint`` and ``tune.get_context`` work in it. Every value of its config, nested
    ones as ``outer/inner``, is a knob with role ``both``, since nothing more is known of it.

    Args:
        function: Takes Ray Tune's ``config`` dictionary; or a class derived from ``Trainable``.
        config: A default for every key that it reads, of any type; or Ray Tune's ``param_space``.
            What has a domain there varies where the sweep's space does not say otherwise.
        reports: Metrics that it reports, with their directions.
        demand: Ranks, GPUs, workers and allocator; called with the dictionary and the machine.
        constraints: Conditions that make a config infeasible, called likewise.
        data: Data sets that it can be trained on; the first one is the default.
        data_key: Key under which the config then has the folder of the prepared set.
        preload: Modules that every training process needs, besides torch and Ray Tune.
        gpus: GPUs that it uses. Default: those that ``tune.with_resources`` gave it.
        stop: As of Ray Tune's ``RunConfig``: the value by metric from which on a training ends, a
            function of the trial's id and the result, or stoppers, which see this trial alone. A
            class needs it: ``{"training_iteration": 10}``, or ``{}`` where ``step()`` says done.
        keeps_checkpoints: True where it reports a checkpoint each time and goes on from
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
    _check(function, config, stop, keeps_checkpoints=keeps_checkpoints)
    if demand is not None and gpus:
        message = f"{caller('gpus')}from_ray: gpus = {gpus} beside a demand"
        refuse([SweepFileError(message, "let the demand return them: Demand(gpus=...)")])
    own = own_function(function)
    title = name or getattr(own, "__name__", type(own).__name__).replace("<lambda>", "function")
    training = RayTraining(
        function,
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
        demand=OnDictionary(demand or OwnResources(function, gpus)),
        preload=("torch", *preload, "ray.tune"),
        keeps_checkpoints=keeps_checkpoints,
        warm=warm,
        name=title,
    )


def _check(
    function: Any,  # noqa: ANN401 - whatever a user gives
    config: object,
    stop: Stop | None,
    *,
    keeps_checkpoints: bool,
) -> None:
    """Refuse what Ray Tune would not run, or what would never end."""
    problem = _problem_of_class(function, stop) if isinstance(function, type) else None
    if not callable(function):
        problem = f"{shown(function)} is no function", "give the function or the class itself"
    elif not isinstance(function, type):
        problem = _problem_of_function(function)
    elif keeps_checkpoints and problem is None:
        problem = _problem_of_saving(function)
    if problem is None and stop is not None:
        problem = problem_of(stop)
    if problem is None and not isinstance(config, Mapping):
        problem = f"config = {shown(config)} is not allowed", "allowed: a dictionary of defaults"
    if problem is not None:
        raise SweepFileError(f"{caller()}from_ray: {problem[0]}", problem[1])


def _problem_of_function(function: Any) -> tuple[str, str] | None:  # noqa: ANN401 - any callable
    plain = function
    while isinstance(plain, functools.partial):
        plain = plain.func
    name = getattr(plain, "__name__", type(plain).__name__)
    if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        hint = f"give one that runs to its end: lambda config: asyncio.run({name}(config))"
        return f"{name} is an async function: a call runs nothing of it", hint
    try:
        inspect.signature(function).bind({})
    except TypeError as error:
        hint = "give a function of one argument: functools.partial binds the others"
        return f"{name} cannot be called with a config alone: {error}", hint
    except ValueError:  # of a function in C
        pass
    return None


def _problem_of_class(made: type, stop: object) -> tuple[str, str] | None:
    name = made.__name__
    if not any(f"{base.__module__}.{base.__name__}".startswith("ray.tune.trainable")
               and base.__name__ == "Trainable" for base in made.__mro__):  # fmt: skip
        hint = "give a function that makes one, trains it and calls tune.report"
        return f"{name} is a class that is not derived from Ray Tune's Trainable", hint
    if stop is None:
        hint = (
            'say when it ends, as in RunConfig: stop={"training_iteration": 10}; or stop={} where '
            "step() returns done=True"
        )
        return f"{name} is a class, which trains step by step without an end", hint
    return None


def _problem_of_saving(made: Any) -> tuple[str, str] | None:  # noqa: ANN401 - any class
    missing = [
        each
        for each in ("save_checkpoint", "load_checkpoint")
        if getattr(made, each).__module__.startswith("ray.tune.trainable")
    ]
    if not missing:
        return None
    text = f"keeps_checkpoints=True, and {made.__name__} has no {' and no '.join(missing)}"
    return text, "write what is missing, or leave keeps_checkpoints out"
