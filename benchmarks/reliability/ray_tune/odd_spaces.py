"""Spaces and values that are less common."""

from __future__ import annotations

import enum
import re
from collections import Counter, OrderedDict, defaultdict, namedtuple
from datetime import datetime
from decimal import Decimal
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from ray import tune
from ray.tune.search.sample import Categorical, Float, Integer

from benchmarks.reliability.ray_tune.cases import Refused, Space


class _Color(enum.Enum):
    RED = 1
    BLUE = 2


class _Odd:
    """An object that cannot be compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError("no")

    def __repr__(self) -> str:
        return "odd"


_Pair = namedtuple("_Pair", ["low", "high"])
_computed: Any = tune.sample_from
_any: Any = tune
"""Ray Tune with ends and options of types that its annotations do not have."""


class _Owner:
    """An object whose method computes a value."""

    def computed(self, config: dict[str, Any]) -> float:
        return float(config["a"] * 2)


def _deep(depth: int) -> Any:  # noqa: ANN401 - a domain, or a dictionary
    return tune.randint(0, 9) if not depth else {"d": _deep(depth - 1)}


ODD_SPACES: Final[dict[str, Space]] = {
    # as in the guide of Ray Tune
    "quniform of the guide": Space({"x": tune.quniform(3.2, 5.4, 0.2)}),
    "qloguniform of the guide": Space({"x": tune.qloguniform(1e-4, 1e-1, 5e-5)}),
    "randint of the guide": Space({"x": tune.randint(-9, 15)}),
    "qrandint of the guide": Space({"x": tune.qrandint(-21, 12, 3)}),
    "lograndint of the guide": Space({"x": tune.lograndint(1, 10)}),
    "qlograndint of the guide": Space({"x": tune.qlograndint(1, 10, 2)}),
    "qrandn of the guide": Space({"x": tune.qrandn(10, 2, 0.2)}),
    # ends
    "ends of numpy": Space(
        {
            "x": _any.uniform(np.float32(0.5), np.float64(1)),
            "n": _any.randint(np.int64(1), np.int32(9)),
            "q": _any.qrandint(np.int64(0), np.int64(8), np.int64(2)),
        }
    ),
    "randint between floats": Space({"x": _any.randint(1.0, 5.0)}),
    "uniform of one value": Space({"x": tune.uniform(0.5, 0.5)}),
    "uniform of tiny numbers": Space({"x": tune.uniform(1e-12, 3e-12)}),
    "uniform of large numbers": Space({"x": tune.uniform(-1e15, 1e15)}),
    "randint of large numbers": Space({"x": tune.randint(0, 2**40)}),
    "domains of another make": Space(
        {
            "f": Float(0, 1),
            "n": Integer(1, 5).uniform(),
            "q": Integer(0, 9).quantized(3),
            "c": Categorical([1, 2]),
            "g": Float(None, None).normal(1, 2),
        }
    ),
    # options
    "choice of one value": Space({"x": tune.choice(["only"])}),
    "choice of a value twice": Space({"x": tune.choice([1, 1, 2])}),
    "choice of 1 and 1.0": Space({"x": tune.choice([1, 1.0, True])}),
    "choice of two zeros": Space({"x": tune.choice([0.0, -0.0])}),
    "choice of no and infinite numbers": Space(
        {"x": tune.choice([float("nan"), float("inf"), 0.0])}
    ),
    "choice of large numbers": Space({"x": tune.choice([2**70, 2**70 + 1, 1])}),
    "choice of an array": Space({"x": _any.choice(np.array([8, 16]))}),
    "choice of keys": Space({"x": _any.choice({"a": 1, "b": 2}.keys())}),
    "choice of members": Space({"x": tune.choice(list(_Color))}),
    "choice of paths": Space({"x": tune.choice([PurePosixPath("/a"), PurePosixPath("b")])}),
    "choice of dates and decimals": Space(
        {"x": tune.choice([datetime(2026, 1, 1), Decimal("0.1")])}
    ),
    "choice of sets": Space({"x": tune.choice([{1, 2}, frozenset({3}), set()])}),
    "choice of pairs": Space({"x": tune.choice([_Pair(0, 1), _Pair(2, 3)])}, options=("x",)),
    "choice of arrays": Space({"x": tune.choice([np.zeros(2), np.ones(2), np.zeros((2, 2))])}),
    "choice of frames": Space(
        {"x": tune.choice([pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})])}
    ),
    "choice of tensors and types": Space(
        {"x": tune.choice([torch.zeros(2), torch.float32, torch.nn.ReLU])}
    ),
    "choice of lambdas": Space({"x": tune.choice([lambda x: x, lambda x: -x])}),
    "choice of objects": Space({"x": tune.choice([SimpleNamespace(a=1), SimpleNamespace(a=2)])}),
    "choice of text of all kinds": Space(
        {"x": tune.choice(["", " a", "a,b", "a=b", "None", "1", "größe", "line\nline", "x" * 500])}
    ),
    "choice in a choice": Space(
        {"x": tune.choice([{"y": tune.choice([{"z": tune.uniform(0, 1)}, None])}, 3])},
        options=("x",),
    ),
    "grid in a choice": Space(
        {"x": tune.choice([{"n": tune.grid_search([1, 2])}, {"n": 3}])}, options=("x",)
    ),
    "choice in a grid": Space(
        {"x": tune.grid_search([tune.choice([1, 2]), tune.uniform(5, 6)])}, options=("x",)
    ),
    "grid in a grid": Space(
        {"x": tune.grid_search([{"y": tune.grid_search([1, 2])}, {"y": 3}])}, options=("x",)
    ),
    "grid in a list": Space(
        {"x": [1, tune.grid_search([2, 3])], "y": {"z": tune.grid_search([4])}}
    ),
    "grid of one value": Space({"x": tune.grid_search(["only"])}),
    "grid of pairs": Space({"x": tune.grid_search([(1, 2), (3, 4)])}),
    "grid of None and switches": Space({"x": tune.grid_search([None, True, 0])}),
    "lists of one length as options": Space({"x": tune.choice([[8, 16], [16, 32]])}),
    # computed
    "sample_from below": Space(
        {"a": tune.uniform(0, 1), "m": {"b": _computed(lambda config: config["a"] + 1)}}, ("m",)
    ),
    "sample_from in a list": Space(
        {"a": tune.randint(1, 9), "x": [1, _computed(lambda config: config["a"])]}, ("x",)
    ),
    "sample_from by get": Space(
        {"a": 2, "b": _computed(lambda config: config.get("a", 0) + config.get("c", 5))}, ("b",)
    ),
    "sample_from of an option": Space(
        {
            "opt": tune.choice([{"lr": tune.uniform(0, 1)}, {"lr": 3.0}]),
            "b": _computed(lambda config: config["opt"]["lr"] * 2),
        },
        ("b",),
        ("opt",),
    ),
    "sample_from by a method": Space(
        {"a": tune.uniform(0, 1), "b": _computed(_Owner().computed)}, ("b",)
    ),
    "sample_from of all kinds": Space(
        {
            "a": tune.randint(1, 4),
            "b": _computed(lambda config: [0] * config["a"]),
            "c": _computed(lambda spec: {"n": spec.config.a}),
            "d": _computed(lambda _: None),
        },
        ("b", "c", "d"),
    ),
    "sample_from with a default": Space(
        {"a": tune.uniform(0, 1), "b": _computed(lambda config, k=3: config["a"] * k)}, ("b",)
    ),
    # keys and values
    "keys that are no text": Space({1: tune.uniform(0, 1), None: 4, 2.5: 5}),
    "keys of ours": Space(
        {
            "seed": 1,
            "epochs": 3,
            "trial_id": "a",
            "config": {"x": 1},
            "state": tune.randint(0, 5),
            "class": "c",
            "space": 3,
            "data": 4,
            "stage": 5,
            "values": 6,
        }
    ),
    "keys that are odd": Space(
        {"": 1, " ": 2, "a\nb": 3, "a.b": 4, "--x": 5, "a=b": 6, "x" * 300: 7}
    ),
    "deep dictionaries": Space({"x": _deep(30)}),
    "wide dictionaries": Space({"x": {f"k{n}": n for n in range(300)}, "y": tune.uniform(0, 1)}),
    "dictionaries of other kinds": Space(
        {
            "o": OrderedDict(b=1, a=tune.uniform(0, 1)),
            "d": defaultdict(int, a=1),
            "c": Counter("aab"),
        }
    ),
    "values of other kinds": Space(
        {
            "p": _Pair(1, 2),
            "n": SimpleNamespace(a=1),
            "e": _Color.RED,
            "r": range(3),
            "s": slice(1, 2),
            "z": 1j,
            "d": Decimal("0.1"),
            "t": datetime(2026, 1, 1),
            "re": re.compile("a+"),
            "...": ...,
            "path": PurePosixPath("/a"),
            "f": pd.DataFrame({"a": [1]}),
        }
    ),
    "values of torch": Space(
        {"t": torch.arange(3), "d": torch.float32, "c": torch.nn.ReLU, "x": torch.device("cpu")}
    ),
    "values that are odd": Space({"odd": _Odd(), "nan": float("nan"), "zero": -0.0}),
    "a section called eval": Space(
        {"eval": {"every": 5, "n": tune.randint(1, 3)}, "grid_search": 3}
    ),
    "grid_search beside another key": Space({"x": {"grid_search": [1, 2], "more": 3}}),
}

ODD_REFUSED: Final[dict[str, Refused]] = {
    "sample_from of the guide": Refused(
        {"a": tune.uniform(0, 1), "b": _computed(lambda _: np.random.uniform(100) ** 2)},
        ("b: tune.sample_from draws at random", "tune.uniform"),
    ),
    "ends the wrong way round": Refused({"x": tune.uniform(2.0, 1.0)}, ("x: ", "low <= high")),
    "no whole number between": Refused({"x": tune.randint(5, 5)}, ("x: ", "low <= high")),
    "no multiple between": Refused({"x": tune.qrandint(1, 3, 5)}, ("x: ", "low <= high")),
    "a name of Python's own": Refused({"__class__": 2}, ("__class__: ", "rename")),
    "choice of nothing": Refused({"x": tune.choice([])}, ("x: ", "nothing to vary")),
    "grid of nothing": Refused({"x": tune.grid_search([])}, ("x: ", "nothing to vary")),
}
