"""Callables of all kinds, and what they are handed."""

# ruff: noqa: ANN401 - whatever is handed over

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from ray import tune

from benchmarks.reliability.ray_tune.cases import Config, Wrapped
from benchmarks.reliability.ray_tune.seen import tell

_DATA: Final = np.arange(10.0)


def _with_all(config: Config, data: Any, model: Any, scale: Any) -> None:
    tell("with_parameters of all kinds", config)
    tune.report({"score": scale(float(data["a"].sum())) * model["x"][0]})


def _with_both(config: Config, data: Any) -> None:
    tell("with_resources of with_parameters", config)
    tune.report({"score": float(data.sum())})


def _with_both_again(config: Config, data: Any) -> None:
    tell("with_parameters of with_resources", config)
    tune.report({"score": float(data.sum())})


def _partly(config: Config, data: Any, more: float) -> None:
    tell("partial of with_parameters", config)
    tune.report({"score": float(data.sum()) + more})


def _with_any(*arguments: Any, **more: Any) -> None:
    tell("arguments of any number", arguments[0])
    tune.report({"score": float(len(arguments) + len(more))})


def _positional(config: Config, /) -> None:
    tell("one argument by position", config)
    tune.report({"score": 1.0})


def _other_name(hyperparameters: Config) -> None:
    tell("an argument of another name", hyperparameters)
    tune.report({"score": 1.0})


def _annotated(config: dict[str, float], *, verbose: bool = False) -> dict[str, float]:
    tell("an annotated function", config)
    return {"score": config["w"]}


def _handing_on(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def handing_on(*arguments: Any, **more: Any) -> Any:
        return function(*arguments, **more)

    return handing_on


@_handing_on
def _decorated_twice(config: Config) -> Config:
    tell("decorated and returned", config)
    return {"score": config["w"]}


@functools.lru_cache
def _kept(w: float) -> float:
    return w * 3


def _with_a_cache(config: Config) -> None:
    tell("a cached function within", config)
    tune.report({"score": _kept(config["w"]) + _kept(config["w"])})


@dataclass
class _Settings:
    """A dataclass that is called."""

    factor: float

    def __call__(self, config: Config) -> Config:
        tell("called dataclass", config)
        return {"score": self.factor * config["w"]}


class _Methods:
    """Methods of a class."""

    @staticmethod
    def static(config: Config) -> None:
        tell("static method", config)
        tune.report({"score": 1.0})

    @classmethod
    def of_the_class(cls, config: Config) -> None:
        tell("method of the class", config)
        tune.report({"score": float(cls.__name__ == "_Methods")})

    def yields(self, config: Config) -> Iterator[Config]:
        tell("method that yields", config)
        yield {"score": 1.0}
        yield {"score": 2.0}


def _big_closure() -> Any:
    data = np.ones(1_000_000)

    def over_it(config: Config) -> None:
        tell("closure over a large array", config)
        tune.report({"score": float(data.sum())})

    return over_it


CALLABLES: Final[dict[str, Wrapped]] = {
    "with_parameters of all kinds": Wrapped(
        tune.with_parameters(
            _with_all,
            data=pd.DataFrame({"a": [1.0, 2.0]}),
            model={"x": [2.0]},
            scale=lambda x: x + 1,
        )
    ),
    "with_resources of with_parameters": Wrapped(
        tune.with_resources(tune.with_parameters(_with_both, data=_DATA), {"cpu": 1})
    ),
    "with_parameters of with_resources": Wrapped(
        tune.with_parameters(tune.with_resources(_with_both_again, {"cpu": 1}), data=_DATA)
    ),
    "partial of with_parameters": Wrapped(
        tune.with_parameters(functools.partial(_partly, more=1.0), data=_DATA)
    ),
    "arguments of any number": Wrapped(_with_any),
    "one argument by position": Wrapped(_positional),
    "an argument of another name": Wrapped(_other_name),
    "an annotated function": Wrapped(_annotated),
    "decorated and returned": Wrapped(_decorated_twice),
    "a cached function within": Wrapped(_with_a_cache),
    "called dataclass": Wrapped(_Settings(3.0)),
    "static method": Wrapped(_Methods.static),
    "method of the class": Wrapped(_Methods.of_the_class),
    "method that yields": Wrapped(_Methods().yields),
    "closure over a large array": Wrapped(_big_closure()),
}
"""By name. Each reports ``score`` of a config with ``w``."""
