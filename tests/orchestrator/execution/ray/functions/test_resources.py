"""What a trial of a function needs."""

from __future__ import annotations

from typing import Any

import pytest
from ray import tune

from orchestrator import SweepError, from_ray
from tests.orchestrator.execution.ray.functions.trials import MACHINE


def train(config: dict[str, Any]) -> None: ...


def train_by_config(config: dict[str, Any]) -> None: ...


def train_on_half(config: dict[str, Any]) -> None: ...


def train_as_it_is(config: dict[str, Any]) -> None: ...


def test_gpus_are_those_that_ray_tune_was_asked_for() -> None:
    fixed = from_ray(tune.with_resources(train, {"cpu": 4, "gpu": 2}), config={"n": 1})
    by_config = from_ray(
        tune.with_resources(
            train_by_config,
            lambda config: tune.PlacementGroupFactory([{"CPU": 1, "GPU": config["n"]}]),
        ),
        config={"n": 2},
    )
    plain = from_ray(train_as_it_is, config={"n": 1})

    assert fixed.demand_of(fixed.config(), MACHINE).gpus == 2
    assert by_config.demand_of(by_config.config(), MACHINE).gpus == 2
    assert by_config.demand_of(by_config.config(n=0), MACHINE).gpus == 0
    assert plain.demand_of(plain.config(), MACHINE).gpus == 0
    told = from_ray(train_as_it_is, config={"n": 1}, gpus=1)
    assert told.demand_of(told.config(), MACHINE).gpus == 1


def test_a_part_of_a_gpu_is_refused_at_once() -> None:
    with pytest.raises(SweepError, match=r"(?s)it asks for 0\.5 GPUs.*give it whole ones"):
        from_ray(tune.with_resources(train_on_half, {"gpu": 0.5}), config={"w": 1.0})
