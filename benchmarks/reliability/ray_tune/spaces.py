"""Configs and spaces, as they are written for Ray Tune."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from ray import tune

from benchmarks.reliability.ray_tune.cases import Refused, Space
from benchmarks.reliability.ray_tune.odd_spaces import ODD_REFUSED, ODD_SPACES


def activation(x: float) -> float:
    """Return ``x``: a function in a config."""
    return x


class Thing:
    """An object in a config."""

    def __repr__(self) -> str:
        return "Thing()"


_computed: Any = tune.sample_from
"""Functions of the config, of ``spec`` or of nothing, which its annotation does not have all."""

SPACES: Final[dict[str, Space]] = {
    "uniform": Space({"x": tune.uniform(0.5, 2.0)}),
    "uniform between ints": Space({"x": tune.uniform(0, 10)}),
    "quniform": Space({"x": tune.quniform(0.0, 1.0, 0.25)}),
    "quniform of a tenth": Space({"x": tune.quniform(-0.5, 0.5, 0.1)}),
    "loguniform": Space({"x": tune.loguniform(1e-5, 1e-1)}),
    "qloguniform": Space({"x": tune.qloguniform(0.01, 1.0, 0.01)}),
    "randint": Space({"x": tune.randint(3, 9)}),
    "randint of one value": Space({"x": tune.randint(4, 5)}),
    "qrandint": Space({"x": tune.qrandint(8, 64, 8)}),
    "qrandint of step 1": Space({"x": tune.qrandint(0, 5, 1)}),
    "qrandint with ends between": Space({"x": tune.qrandint(3, 20, 4)}),
    "lograndint": Space({"x": tune.lograndint(1, 1000)}),
    "qlograndint": Space({"x": tune.qlograndint(4, 256, 4)}),
    "randn": Space({"x": tune.randn(10.0, 2.0)}),
    "qrandn": Space({"x": tune.qrandn(0.3, 1.0, 0.5)}),
    "choice of floats": Space({"x": tune.choice([0.1, 0.2])}),
    "choice of ints and floats": Space({"x": tune.choice([1, 0.5, 2])}),
    "choice of text": Space({"x": tune.choice(["a", "b"])}),
    "choice of switches": Space({"x": tune.choice([True, False])}),
    "choice with None": Space({"x": tune.choice([None, 0.5])}),
    "choice of all kinds": Space({"x": tune.choice([1, "1", True, None, 1.5])}),
    "choice of lists": Space({"x": tune.choice([[64], [64, 64], []])}),
    "choice of tuples": Space({"x": tune.choice([(1, 2), (3,)])}),
    "choice of dictionaries": Space({"x": tune.choice([{"a": 1}, {"a": 2, "b": [1]}])}),
    "choice of numpy scalars": Space({"x": tune.choice([np.float32(0.5), np.int64(3)])}),
    "choice of functions": Space({"x": tune.choice([activation, abs])}),
    "choice of classes": Space({"x": tune.choice([Thing, dict])}),
    "choice of a range": Space({"x": tune.choice(range(3))}),
    "grid_search": Space({"x": tune.grid_search([1, 2, 3])}),
    "grid_search of numpy": Space({"x": tune.grid_search(np.arange(0.0, 1.0, 0.25))}),
    "grid_search twice": Space({"x": tune.grid_search([1, 2]), "y": tune.grid_search(["a", "b"])}),
    "grid_search and draws": Space({"x": tune.grid_search([1, 2]), "y": tune.uniform(0, 1)}),
    "nested": Space({"model": {"lr": tune.loguniform(1e-4, 1.0), "name": "mlp"}, "n": 3}),
    "nested thrice": Space({"a": {"b": {"c": tune.randint(0, 9), "d": 1}, "e": None}}),
    "list of domains": Space({"layers": [tune.choice([16, 32]), tune.choice([16, 32]), 8]}),
    "tuple of domains": Space({"pair": (tune.uniform(0, 1), "x")}),
    "dictionaries in a list": Space({"ops": [{"p": tune.uniform(0, 1)}, {"p": 0.5}]}),
    "conditional choice": Space(
        {
            "opt": tune.choice([
                {"name": "sgd", "lr": tune.loguniform(0.01, 1.0), "momentum": tune.uniform(0, 1)},
                {"name": "adam", "lr": tune.loguniform(1e-5, 1e-2)},
            ])
        },
        options=("opt",),
    ),
    "conditional grid": Space(
        {"opt": tune.grid_search([{"a": tune.randint(1, 3)}, {"b": tune.uniform(0, 1)}])},
        options=("opt",),
    ),
    "conditional lists": Space({"x": tune.choice([[tune.randint(1, 4)], 7])}, options=("x",)),
    "sample_from of a draw": Space(
        {"a": tune.randint(1, 9), "b": _computed(lambda spec: spec.config.a * 2)}, ("b",)
    ),
    "sample_from of the dictionary": Space(
        {"a": tune.uniform(0, 1), "b": _computed(lambda config: config["a"] * 2)}, ("b",)
    ),
    "sample_from of a sample_from": Space(
        {
            "a": tune.uniform(0, 1),
            "b": _computed(lambda spec: f"{spec.config.a:.3f}"),
            "c": _computed(lambda config: [config["b"]] * 2),
        },
        ("b", "c"),
    ),
    "sample_from of a nested draw": Space(
        {
            "m": {"a": tune.uniform(0, 1)},
            "b": _computed(lambda spec: spec.config.m.a + spec.config["k"]),
            "k": 5,
        },
        ("b",),
    ),
    "sample_from of nothing": Space({"a": 1, "b": _computed(lambda: {"x": 3})}, ("b",)),
    "eval": Space({"a": tune.randint(1, 5), "b": {"eval": "spec.config.a ** 2"}}, ("b",)),
    "None": Space({"x": None, "y": tune.uniform(0, 1)}),
    "lists, tuples and sets": Space({"x": [1, [2, 3]], "y": (1, "a"), "z": {3, 1}, "e": []}),
    "empty dictionaries": Space({"x": {}, "y": {"z": {}}}),
    "numpy": Space({"x": np.float32(0.1), "y": np.arange(4), "z": np.bool_(True)}),
    "functions and classes": Space({"f": activation, "c": Thing, "o": Thing()}),
    "large numbers": Space({"x": 2**70, "y": -(2**63), "z": 1e308}),
    "infinite numbers": Space({"x": float("inf"), "y": float("-inf")}),
    "text of all kinds": Space({"x": "a" * 3000, "y": "line\nline", "z": "", "w": b"bytes"}),
    "keys of all kinds": Space({"a b": 1, "lambda": 0.5, "self": 2, "größe": 3, "a/b": 4}),
    **ODD_SPACES,
}  # fmt: skip

REFUSED: Final[dict[str, Refused]] = {
    "sample_from that draws": Refused(
        {"a": 1, "b": _computed(lambda: np.random.uniform())},
        ("b: tune.sample_from draws at random", "tune.uniform"),
    ),
    "sample_from that draws by another value": Refused(
        {"a": 3, "b": _computed(lambda spec: np.random.randint(0, 100 * spec.config.a))},
        ("b: tune.sample_from draws at random", "config['u']"),
    ),
    "sample_from that raises": Refused(
        {"a": 3, "b": _computed(lambda spec: spec.config.c)},
        ("b: tune.sample_from: it raised", "config['lr']"),
    ),
    "sample_from of a later one": Refused(
        {
            "c": _computed(lambda config: config["b"]),
            "b": _computed(lambda config: 2 * config["a"]),
            "a": tune.uniform(0, 1),
        },
        ("c, b: tune.sample_from", "put that one first"),
    ),
    **ODD_REFUSED,
}
