"""Callables and classes that must be handed over by themselves, not by their names."""

# ruff: noqa: D102, ANN401 - methods of Ray's own classes, and whatever is handed over

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from ray import tune

from benchmarks.reliability.ray_tune.callables import CALLABLES
from benchmarks.reliability.ray_tune.cases import Config, Wrapped
from benchmarks.reliability.ray_tune.seen import tell
from benchmarks.reliability.ray_tune.stopped import STOPPED


def _with_more(more: float, config: Config, *, factor: float = 1.0) -> None:
    tell("partial", config)
    tune.report({"score": more * factor * config["w"]})


def _plain(config: Config) -> None:
    tell("with_resources", config)
    tune.report({"score": config["w"]})


def _asked(config: Config) -> None:
    tell("with_resources of a function", config)
    tune.report({"score": config["w"]})


def _with_data(config: Config, data: Any, scale: float = 1.0) -> None:
    tell("with_parameters", config)
    tune.report({"score": float(data.sum()) * scale})


def _yields_with_data(config: Config, data: Any) -> Iterator[Config]:
    tell("with_parameters of a generator", config)
    yield {"score": float(data.sum())}


def _traced(function: Callable[[Config], None]) -> Callable[[Config], None]:
    @functools.wraps(function)
    def traced(config: Config) -> None:
        function({**config, "w": config["w"] + 1})

    return traced


@_traced
def _decorated(config: Config) -> None:
    tell("decorated", config)
    tune.report({"score": config["w"]})


def _with_default(config: Config, epochs: int = 2) -> None:
    tell("further arguments with defaults", config)
    for epoch in range(epochs):
        tune.report({"score": float(epoch)})


def _partial_generator(config: Config, count: int) -> Iterator[Config]:
    tell("partial of a generator", config)
    for step in range(count):
        yield {"score": float(step)}


def _stopped(config: Config) -> None:
    tell("stop by a figure", config)
    for step in range(10):
        tune.report({"score": float(step), "inner": {"x": step}})


def _stopped_within(config: Config) -> None:
    tell("stop by a nested figure", config)
    for step in range(10):
        tune.report({"score": float(step), "inner": {"x": step}})


def _stopped_after(config: Config) -> None:
    tell("stop by the number of reports", config)
    for step in range(10):
        tune.report({"score": float(step)})


class _Called:
    """An object that is called."""

    def __call__(self, config: Config) -> None:
        tell("callable object", config)
        tune.report({"score": config["w"]})


class _Owner:
    """An object with a method."""

    base = 5.0

    def train(self, config: Config) -> None:
        tell("bound method", config)
        tune.report({"score": self.base * config["w"]})


class Steps(tune.Trainable):
    """A class that says itself when it is done."""

    case = "class that is done"

    def setup(self, config: Config) -> None:
        tell(self.case, config)
        self.x = config["w"]

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "inner": {"i": self.iteration}, "done": self.x >= 5}


class Endless(Steps):
    """A class that never says that it is done."""

    case = "class with stop"

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "whole": self.training_iteration}


class Nested(Endless):
    """As it, stopped by a nested figure."""

    case = "class with stop by a nested figure"

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "inner": {"x": self.x}}


class Saves(Endless):
    """A class that asks to be saved."""

    case = "class that saves itself"

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "should_checkpoint": True}

    def save_checkpoint(self, checkpoint_dir: str) -> Any:
        (Path(checkpoint_dir) / "x.json").write_text(json.dumps(self.x))

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.x = json.loads((Path(checkpoint) / "x.json").read_text())


class SavesDictionary(Saves):
    """As it, by a dictionary."""

    case = "class that saves a dictionary"

    def save_checkpoint(self, checkpoint_dir: str) -> Config:
        return {"x": self.x}


class Fails(Steps):
    """A class whose third step raises."""

    case = "class that raises"

    def step(self) -> Config:
        self.x += 1
        if self.x > 4:
            raise RuntimeError("on purpose")
        return {"score": self.x}


class CleansUp(Steps):
    """A class that cleans up."""

    case = "class that cleans up"

    def cleanup(self) -> None:
        tell("class that cleans up", self.config, cleaned=True)


class NamesItself(Steps):
    """A class that asks for its names and folder."""

    case = "class that asks for its names"

    def step(self) -> Config:
        own = Path(self.logdir).resolve() == Path.cwd().resolve()
        named = self.trial_id in self.trial_name
        return {"score": float(own), "named": float(named), "done": True}


class WithData(Steps):
    """A class that is handed data."""

    case = "class with_parameters"

    def setup(self, config: Config, data: Any = None) -> None:
        super().setup(config)
        self.x += float(data.sum())


class OneStep(Steps):
    """A class with resources."""

    case = "class with_resources"


def _told(config: Config) -> None:
    tell("lambda", config)
    tune.report({"score": config["w"]})


def _closure() -> Any:
    hidden = 3.0

    def inner(config: Config) -> None:
        tell("closure", config)
        tune.report({"score": hidden * config["w"]})

    return inner


_DATA: Final = np.arange(10.0)

WRAPPED: Final[dict[str, Wrapped]] = {
    "partial": Wrapped(functools.partial(_with_more, 3.0, factor=2.0)),
    "partial of a generator": Wrapped(functools.partial(_partial_generator, count=3)),
    "with_resources": Wrapped(tune.with_resources(_plain, {"cpu": 1})),
    "with_resources of a function": Wrapped(
        tune.with_resources(_asked, lambda config: tune.PlacementGroupFactory([{"CPU": 1}]))
    ),
    "with_parameters": Wrapped(tune.with_parameters(_with_data, data=_DATA, scale=2.0)),
    "with_parameters of a generator": Wrapped(tune.with_parameters(_yields_with_data, data=_DATA)),
    "callable object": Wrapped(_Called()),
    "bound method": Wrapped(_Owner().train),
    "lambda": Wrapped(lambda config: _told(config)),
    "closure": Wrapped(_closure()),
    "decorated": Wrapped(_decorated),
    "further arguments with defaults": Wrapped(_with_default),
    "stop by a figure": Wrapped(_stopped, {"score": 3}),
    "stop by a nested figure": Wrapped(_stopped_within, {"inner/x": 2}),
    "stop by the number of reports": Wrapped(_stopped_after, {"training_iteration": 4}),
    "class that is done": Wrapped(Steps),
    "class with stop": Wrapped(Endless, {"training_iteration": 4}),
    "class with stop by a nested figure": Wrapped(Nested, {"inner/x": 5}),
    "class that saves itself": Wrapped(Saves, {"training_iteration": 3}),
    "class that saves a dictionary": Wrapped(SavesDictionary, {"training_iteration": 3}),
    "class that raises": Wrapped(Fails),
    "class that cleans up": Wrapped(CleansUp),
    "class that asks for its names": Wrapped(NamesItself),
    "class with_parameters": Wrapped(tune.with_parameters(WithData, data=_DATA)),
    "class with_resources": Wrapped(tune.with_resources(OneStep, {"cpu": 1})),
    **CALLABLES,
    **STOPPED,
}
"""By name. Each reports ``score`` of a config with ``w``."""
