"""Ray Tune's dictionaries as config classes, and back; values of knobs for objects of any kind."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

import random
from typing import Any, get_args

import numpy as np
import pytest
from ray import tune

from orchestrator import choice, integers, uniform
from orchestrator.execution.ray.functions.labels import as_values
from orchestrator.execution.ray.functions.param_space import ParamSpace
from orchestrator.space.configs import built, canonical, domains_of, knobs_of, values_of
from orchestrator.space.domains import Interval


def dictionary(space: ParamSpace, **values: Any) -> dict[Any, Any]:
    base = values_of(space.baseline())
    return space.dictionary(canonical(built(space.config_class, {**base, **values})))


def test_a_dictionary_comes_back_as_it_was() -> None:
    given = {
        "lr": 0.1, "model": {"layers": [64, 64], "drop": None, "inner": {"x": (1, "a")}}, "n": 3,
        "self": 1, "lambda": 2, "a b": {}, "f": abs, 7: True,
    }  # fmt: skip
    space = ParamSpace("any", given)

    assert space.dictionary(space.baseline()) == given
    assert list(space.dictionary(space.baseline())) == list(given)
    assert space.dictionary(space.baseline())["model"] is not given["model"]
    assert list(knobs_of(space.config_class))[:3] == ["lr", "model/layers", "model/drop"]
    assert space.baseline()["model"]["layers"] == [64, 64]


def test_what_varies_may_be_nested_or_named_by_its_path() -> None:
    given = {"model": {"lr": 0.1, "depth": 2}}
    nested = ParamSpace("any", given, {"model": {"lr": uniform(0.0, 1.0)}}, {"model": {"lr": 0.5}})
    flat = ParamSpace("any", given, {"model/lr": uniform(0.0, 1.0)}, {"model/lr": 0.5})

    for space in (nested, flat):
        assert {k: str(v) for k, v in domains_of(space.space()).items()} == {
            "model/lr": "uniform(0, 1)"
        }
        assert values_of(space.baseline()) == {"model/lr": 0.5, "model/depth": 2}
        assert dictionary(space, **{"model/lr": 0.25}) == {"model": {"lr": 0.25, "depth": 2}}


@pytest.mark.parametrize(
    ("config", "space", "varied", "baseline"),
    [
        ({"a": integers(0, 8), "b": choice("x", "y")}, {"b": "y"}, ["a"], {"a": 4, "b": "y"}),
        ({"a": None}, {"a": {"b": 1, "c": uniform(0.0, 1.0)}}, ["a/c"], {"a/b": 1, "a/c": 0.5}),
        ({"a/b": 1, "c": {"d": 1}}, {"a/b": 2, "c/d": 3}, [], {"a/b": 1, "c/d": 1}),
    ],
)
def test_each_value_is_a_knob_by_its_path(
    config: dict[str, Any], space: dict[str, Any], varied: list[str], baseline: dict[str, Any]
) -> None:
    found = ParamSpace("any", config, space)
    assert list(domains_of(found.space())) == varied
    assert values_of(found.baseline()) == baseline


def test_what_is_drawn_is_what_the_function_gets() -> None:
    options = [None, [1], {"a": 1}, 0.5]
    space = ParamSpace("any", {"x": None}, {"x": choice(*options)})
    rng = random.Random(0)
    domain = domains_of(space.space())["x"]

    got = [dictionary(space, x=domain.sample(rng))["x"] for _ in range(40)]
    assert all(each in options for each in got)
    assert len({str(each) for each in got}) == len(options)


@pytest.mark.parametrize(
    ("given", "varied", "message"),
    [
        ({"seed": None}, {"seed": integers(0, 9)}, "seed: None is not a whole number"),
        ({"a": {"b": 1}, "a/b": 2}, {}, "a/b: two values of config have this name"),
        ({"a": {"b": 1}}, {"a/b": 3, "a": {"b": 2}}, "a: both a and a/b are given"),
        ({"a": 1}, {"a": choice({"b": integers(0, 1)}, 2)}, "a: an option .* domain within it"),
        ({"a": [1, 2]}, {"a": [integers(0, 1), 2]}, "a: an option or a list has a domain within"),
        ({"a": 1}, {"a": tune.sample_from(abs)}, "a: tune.sample_from has no counterpart here"),
        ({"a": 1}, {"a": choice()}, r"a: choice\(\) of no values leaves nothing to vary"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(
    given: dict[str, Any], varied: dict[str, Any], message: str
) -> None:
    (problem,) = ParamSpace("any", given, varied).problems.values()
    with pytest.raises(type(problem), match=message):
        raise problem


# -- labels of objects


class Thing:
    """An object with an address in its text."""


@pytest.mark.parametrize(
    ("objects", "kind", "values"),
    [
        ([1, 0.5], float, [1.0, 0.5]),
        ([np.float32(0.5), np.int64(2)], float, [0.5, 2.0]),
        ([True, False], bool, [True, False]),
        ([None, 0.5], None, ["None", "0.5"]),
        ([[64], [64, 64], (64,)], None, ["[64]", "[64, 64]", "(64,)"]),
        (["None", None], None, ["None", "None (2)"]),
        ([float("inf")], None, ["inf"]),
        ([2**70, 2**70 + 1], None, [str(2**70), str(2**70 + 1)]),
        ([Thing(), abs, dict], None, ["<test_param_space.Thing object>", "abs", "dict"]),
        ([{"b", "a"}], None, ["{'a', 'b'}"]),
        ([np.zeros(3), np.zeros(3)], None, ["array([0., 0., 0.])", "array([0., 0., 0.]) (2)"]),
    ],
)
def test_each_object_has_a_value_and_comes_back_as_it_was(
    objects: list[Any], kind: type | None, values: list[Any]
) -> None:
    labels, found = as_values(objects)
    assert [str(value).rpartition(".")[2] for value in found] == [
        str(value).rpartition(".")[2] for value in values
    ]
    if kind is None:
        assert list(get_args(labels)) == found
    else:
        assert labels is kind
    space = ParamSpace("any", dict(enumerate(objects)))
    back = space.dictionary(space.baseline()).values()
    assert all(one is each for one, each in zip(back, objects, strict=True))


def test_numbers_with_an_interval_are_of_its_kind() -> None:
    whole, any_number = Interval(0, 9, integer=True), Interval(0.0, 1.0)

    assert as_values([np.int64(3)], whole)[0] is int
    assert as_values([1], any_number)[0] is float
    space = ParamSpace("any", {"x": 1}, {"x": uniform(0.0, 1.0)})
    assert isinstance(space.dictionary(space.baseline())["x"], int)
    with pytest.raises(ValueError, match=r"None is not a whole number, and integers\(0, 9\)"):
        as_values([None], whole)
    with pytest.raises(ValueError, match=r"0\.5 is not a whole number"):
        as_values([0.5], whole)
    with pytest.raises(ValueError, match="'a' is not a number"):
        as_values(["a"], any_number)
