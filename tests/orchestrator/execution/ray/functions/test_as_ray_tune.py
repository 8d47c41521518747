"""Functions and classes of Ray Tune have the state and reports that Ray Tune 2.60 gives them."""

# ruff: noqa: ANN401 - their names say it; methods of Ray's own class

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray import tune

from orchestrator import from_ray, maximize
from tests.orchestrator.execution.ray.functions.trials import trained

Config = dict[str, Any]
W = 2.0
CONFIG: Config = {"w": W, "model": {"depth": 3, "act": "relu"}, "layers": [8, 4]}


def reports_thrice(config: Config) -> None:
    for step in range(3):
        tune.report({"score": config["w"] + step, "loss": 1.0 / (step + 1)})


def reads_a_nested_config(config: Config) -> None:
    tune.report({"score": config["model"]["depth"] * sum(config["layers"])})


def changes_its_config(config: Config) -> None:
    config["layers"].append(config.pop("w"))
    tune.report({"score": sum(config["layers"])})


def returns_a_dictionary(config: Config) -> Config:
    return {"score": config["w"] * 3}


def returns_a_number(config: Config) -> float:
    return 2.5


def returns_text(config: Config) -> str:
    tune.report({"score": 1.0})
    return "done"


def yields_dictionaries(config: Config) -> Iterator[Config]:
    for step in range(3):
        yield {"score": config["w"] * step}


def yields_numbers(config: Config) -> Iterator[float]:
    yield 1.5
    yield 2.5


def raises(config: Config) -> None:
    tune.report({"score": 1.0})
    raise ValueError("no")


def exits_with_3(config: Config) -> None:
    tune.report({"score": 1.0})
    sys.exit(3)


class Endless(tune.Trainable):
    """A class that never is done."""

    def setup(self, config: Config) -> None:
        self.x = config["w"]

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "whole": self.training_iteration}


def _with_data(config: Config, data: Any, scale: float = 1.0) -> None:
    tune.report({"score": float(data.sum()) * scale})


def _scaled(more: float, config: Config) -> None:
    tune.report({"score": more * config["w"]})


def scores(*figures: float) -> list[dict[str, float]]:
    return [{"score": figure} for figure in figures]


THRICE = [{"score": 2.0, "loss": 1.0}, {"score": 3.0, "loss": 0.5}, {"score": 4.0, "loss": 1 / 3}]
COUNTED = [{"score": float(number + 2), "whole": float(number - 1)} for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("function", "stop", "state", "reports"),
    [
        (reports_thrice, {}, "completed", THRICE),
        (reports_thrice, {"score": 3.0}, "completed", THRICE[:2]),
        (reads_a_nested_config, {}, "completed", scores(36)),
        (changes_its_config, {}, "completed", scores(14)),
        (returns_a_dictionary, {}, "completed", scores(6)),
        (returns_a_number, {}, "completed", [{"_metric": 2.5}]),
        (returns_text, {}, "failed", scores(1)),
        (yields_dictionaries, {}, "completed", scores(0, 2, 4)),
        (yields_numbers, {}, "completed", [{"_metric": 1.5}, {"_metric": 2.5}]),
        (raises, {}, "failed", scores(1)),
        (exits_with_3, {}, "failed", scores(1)),
        (Endless, {"training_iteration": 4}, "completed", COUNTED),
        (tune.with_parameters(_with_data, data=np.arange(4.0)), {}, "completed", scores(6)),
        (functools.partial(_scaled, 3.0), {}, "completed", scores(6)),
    ],
)
def test_the_state_and_the_reports_are_those_of_ray_tune(
    function: Callable[..., Any],
    stop: dict[str, float],
    state: str,
    reports: list[dict[str, float]],
    tmp_path: Path,
) -> None:
    config = copy.deepcopy(CONFIG)
    trainable = from_ray(function, config=config, reports=[maximize("score")], stop=stop)
    ended = "completed"
    try:
        trained(trainable, folder=tmp_path)
    except (Exception, SystemExit):  # noqa: BLE001 - as a trial's process does
        ended = "failed"
    assert ended == state
    assert trained.reports == [pytest.approx(each) for each in reports]  # type: ignore[attr-defined]
