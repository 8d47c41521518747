"""Checks of what a trainable is declared with: every field, where it is declared."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

from orchestrator.errors import SweepError, SweepFileError
from orchestrator.field_types import shown, wrong_fields
from orchestrator.locations import caller

_ALLOWED: Final = {
    "train": "a function of a config and a run: def train(config, run)",
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
"""What each field of a trainable may be."""

_NOT_CALLED: Final[dict[str, Callable[[Any], bool]]] = {
    "an async function": inspect.iscoroutinefunction,
    "an async generator": inspect.isasyncgenfunction,
    "a generator": inspect.isgeneratorfunction,
}
"""Kinds of functions of whose body a call runs nothing."""

_OF_A_DATA_SET: Final = {"name": str, "embedded": bool, "how_to_get": str}
_CALLED_OF_A_DATA_SET: Final = ("at", "present", "headers", "prepare")


def trainable_problems(trainable: object) -> list[SweepError]:
    """Return what is wrong with the fields of a trainable, each with its line.

    Args:
        trainable: A :class:`~orchestrator.trainable.Trainable` that is being made.
    """
    found = [(each.field, f"{each} is not allowed") for each in wrong_fields(trainable)]
    return [
        SweepFileError(
            f"{caller(field)}Trainable: {text}",
            f"allowed: {_ALLOWED[field]}" + (_of_ray_tune(trainable) if field == "train" else ""),
        )
        for field, text in found or _findings(trainable)
    ]


def _findings(trainable: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - as above
    """Yield what is wrong with fields of the right types, each after the field's name."""
    train = trainable.train
    if isinstance(train, type):
        yield "train", f"train = {train.__name__} is a class"
    elif (kind := uncalled(train)) is not None:
        yield "train", f"train = {_name(train)} is {kind}: nothing of it would run"
    elif not _takes(train, 2):
        yield "train", f"train = {_name(train)} cannot be called with a config and a run"
    if not is_config_class(trainable.config):
        yield "config", f"config = {trainable.config.__name__} has no knobs"
    names = [objective.metric for objective in trainable.reports]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield "reports", f"reports[{number}] names {shown(name)} a second time"
    for number, data in enumerate(trainable.data):
        for text in _of_data(data):
            yield "data", f"data[{number}]{text}"
    for number, module in enumerate(trainable.preload):
        if not all(part.isidentifier() for part in module.removeprefix("?").split(".")):
            yield "preload", f"preload[{number}] = {shown(module)} is no name of a module"


def _of_ray_tune(trainable: Any) -> str:  # noqa: ANN401 - as above
    """Return what takes a refused training function that may be one for Ray Tune, in words."""
    train, kind = trainable.train, None
    if isinstance(train, type):
        kind = "a class" if hasattr(train, "step") else None
    elif callable(train):
        kind = uncalled(train) or ("a function" if _takes(train, 1) else None)
    is_taken = kind in ("a class", "a function", "a generator")
    return f"; {kind} written for Ray Tune is taken by from_ray" if is_taken else ""


def is_config_class(config: object) -> bool:
    """Return True for a class that ``@knobs`` has made."""
    return isinstance(config, type) and "__knobs__" in vars(config)


def uncalled(function: Any) -> str | None:  # noqa: ANN401 - anything that is called
    """Return the kind of a function of whose body a call runs nothing; None for another."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    return next((kind for kind, is_one in _NOT_CALLED.items() if is_one(function)), None)


def _takes(function: Callable[..., Any], num_arguments: int) -> bool:
    """Return True if a function can be called with so many arguments, as far as it tells."""
    try:
        inspect.signature(function, follow_wrapped=False).bind(*[None] * num_arguments)
    except TypeError:
        return False
    except ValueError:  # of a function in C
        return True
    return True


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _of_data(data: object) -> Iterator[str]:
    """Yield what is wrong with a data set, each after its place in the list."""
    if isinstance(data, type):
        yield f" = {data.__name__} is a class: {data.__name__}() is one of its sets"
        return
    missing = [n for n in _CALLED_OF_A_DATA_SET if not callable(getattr(data, n, None))]
    if missing:
        yield f" = {shown(data)} is no data set: it has no {missing[0]}()"
        return
    for name, kind in _OF_A_DATA_SET.items():
        if not isinstance(value := getattr(data, name, None), kind) or value == "":
            yield f".{name} = {shown(value)} is not allowed: it is a {kind.__name__}"
