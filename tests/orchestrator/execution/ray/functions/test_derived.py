"""Values that ``tune.sample_from`` computes."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from ray import tune

from orchestrator import SweepError, from_ray
from orchestrator.execution.ray.functions.derived import is_derived, resolved
from tests.orchestrator.execution.ray.functions.trials import trained

computed: Any = tune.sample_from
"""It takes functions of the config, of ``spec`` and of nothing."""


def sees(config: dict[str, Any]) -> None:
    tune.report({name: float(value) for name, value in config.items()})


def test_values_are_computed_from_the_config_of_each_trial() -> None:
    space = {
        "a": tune.randint(1, 9), "b": computed(lambda spec: 2 * spec.config.a),
        "c": computed(lambda config: config["b"] + 1), "d": {"eval": "spec.config.a + 5"},
    }  # fmt: skip
    trainable, _, start = from_ray(sees, config=space).for_sweep({}, {"a": 3})

    assert list(vars(start)) == ["a"], "they are no knobs"
    assert trained(trainable, start) == [{"a": 3.0, "b": 6.0, "c": 7.0, "d": 8.0}]


def test_they_leave_the_random_numbers_as_they_were() -> None:
    random.seed(1)
    np.random.seed(1)
    expected = random.random(), np.random.rand()
    random.seed(1)
    np.random.seed(1)
    drawn = {"x": computed(lambda: random.random() + np.random.rand())}

    assert resolved(drawn) == resolved(drawn)
    assert resolved(drawn) != resolved(drawn, seed=1)
    assert (random.random(), np.random.rand()) == expected


@pytest.mark.parametrize(
    ("function", "baseline", "says"),
    [
        (lambda: random.random(), None, r"x: tune.sample_from draws at random.*tune.uniform"),
        (
            lambda spec: np.random.randint(spec.config.a),
            None,
            "x: tune.sample_from draws at random",
        ),
        (lambda spec: spec.config.missing, None, "x: tune.sample_from: it raised AttributeError"),
        (lambda config: config["z"], None, "it raised KeyError: 'z'.*config\\['lr'\\]"),
        (lambda: 1, {"x": 2}, "x: tune.sample_from computes it.*leave it out of the baseline"),
    ],
)
def test_what_cannot_be_computed_alike_is_refused_with_the_way_out(
    function: Any, baseline: dict[str, Any] | None, says: str
) -> None:
    trainable = from_ray(sees, config={"a": 10**6, "x": computed(function)})
    with pytest.raises(SweepError, match=f"(?s){says}"):
        trainable.for_sweep({}, baseline)


def test_a_function_that_asks_for_what_a_later_one_computes_is_told_so() -> None:
    space = {
        "c": computed(lambda config: config["b"]), "b": computed(lambda: 1),
    }  # fmt: skip
    with pytest.raises(SweepError, match=r"(?s)c, b: .*put that one first"):
        from_ray(sees, config=space).for_sweep({}, None)


def test_what_is_derived_is_told_from_what_is_not() -> None:
    assert is_derived(computed(lambda: 1))
    assert is_derived({"eval": "1"})
    assert not any(map(is_derived, (tune.uniform(0, 1), {"eval": 1, "b": 2}, lambda: 1, None)))
