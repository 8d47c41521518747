"""A trainable's fields of wrong types are refused where it is declared, with what they may be."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from orchestrator.errors import SweepFileError, collecting_problems
from orchestrator.metrics import maximize, minimize
from orchestrator.space.declare import knobs, learning
from orchestrator.trainable import Trainable
from orchestrator.trainable_checks import uncalled


@knobs
class Config:
    lr: float = learning(default=0.1, doc="step size")


def train(config: Config, run: object) -> None:
    """Do nothing."""


async def awaited(config: Config, run: object) -> None:
    """Do nothing, once it is awaited."""


def generator(config: Config, run: object) -> Iterator[int]:
    yield 1


async def async_generator(config: Config, run: object) -> AsyncIterator[int]:
    yield 1


class Called:
    async def __call__(self, config: Config, run: object) -> None:
        """Do nothing, once it is awaited."""


class Data:
    name, embedded, how_to_get = "own", True, "it is there"

    def at(self, variant: str) -> Data:
        return self

    def present(self, folders: object) -> bool:
        return True

    def headers(self, folders: object) -> None: ...

    def prepare(self, folders: object, *, download: bool = False) -> None: ...


class Nameless(Data):
    name = 3  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("field", "value", "said", "allowed"),
    [
        ("train", None, "train = None is not allowed", "def train(config, run)"),
        ("train", Config, "train = Config is a class", "a function"),
        ("train", awaited, "train = awaited is an async function: nothing of it would run", ""),
        ("train", generator, "is a generator: nothing of it would run", "is taken by from_ray"),
        ("train", async_generator, "is an async generator", ""),
        ("train", Called(), "train = Called is an async function", ""),
        ("train", functools.partial(awaited), "is an async function", ""),
        ("train", lambda config: None, "cannot be called with a config and a run", ""),
        ("config", Config(), "config = Config() is not allowed", "a class made with @knobs"),
        ("config", dict, "config = dict has no knobs", "a class made with @knobs"),
        ("data", "mnist", "data = 'mnist' is not allowed", "a list of data sets"),
        ("data", ["mnist"], "data[0] = 'mnist' is no data set: it has no at()", ""),
        ("data", [Data], "data[0] = Data is a class: Data() is one of its sets", ""),
        ("data", [Nameless()], "data[0].name = 3 is not allowed: it is a str", ""),
        ("reports", ["val_acc"], "reports[0] = 'val_acc'", '[maximize("val_acc")]'),
        ("reports", maximize("val_acc"), "reports = Objective(", "a list"),
        ("reports", [maximize("a"), minimize("a")], "reports[1] names 'a' a second", "directions"),
        ("constraints", ["no"], "constraints[0] = 'no'", "a list of functions"),
        ("demand", 3, "demand = 3", "a function of a config and a machine"),
        ("preload", "torch", "preload = 'torch'", '["torch"]'),
        ("preload", ["torch", 3], "preload[1] = 3", "names of modules"),
        ("preload", ["not a module"], "preload[0] = 'not a module' is no name of a module", ""),
        ("keeps_checkpoints", "yes", "keeps_checkpoints = 'yes'", "True or False"),
        ("warm", 1, "warm = 1", "True or False"),
        ("name", 3, "name = 3", "a str"),
    ],
)
def test_a_field_of_a_wrong_type_is_refused(
    field: str, value: Any, said: str, allowed: str  # noqa: ANN401
) -> None:  # fmt: skip
    with pytest.raises(SweepFileError) as refused:
        Trainable(**{"train": train, "config": Config, field: value})
    assert refused.value.message.startswith("tests/orchestrator/test_trainable_checks.py:")
    assert said in refused.value.message
    assert allowed in refused.value.hint


class OfRayTune:
    def step(self) -> dict[str, float]:
        return {"done": True}


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        (lambda config: None, "function"),
        (functools.partial(lambda config, data: None, data=3), "function"),
        (generator, "generator"),
        (OfRayTune, "class"),
        (Config, None),
        (awaited, None),
        (lambda: None, None),
        (None, None),
    ],
)
def test_what_is_written_for_ray_tune_is_told_its_way(written: Any, kind: str | None) -> None:  # noqa: ANN401
    with pytest.raises(SweepFileError) as refused:
        Trainable(written, Config)
    told = f"; a {kind} written for Ray Tune is taken by from_ray" if kind else "config, run)"
    assert refused.value.hint.endswith(told)


def test_all_fields_are_told_together() -> None:
    with collecting_problems() as problems:
        Trainable(train, Config, reports=["a"], preload="b", warm=3)  # type: ignore[list-item, arg-type]
    assert len(problems) == 3


def test_what_trains_is_taken() -> None:
    for function in (train, functools.partial(train), lambda config, run: None, print, Called):
        assert uncalled(function) is None
    assert Trainable(train, Config, data=[Data()], preload=["a.b", "?c"]).data  # type: ignore[list-item]
