"""The knobs that are found in Ray Tune's dictionaries."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import choice, integers, uniform
from orchestrator.execution.ray.functions.space_tree import Knobs


@pytest.mark.parametrize(
    ("config", "space", "leaves"),
    [
        ({"a": 1, "b": {"c": 2, "d": {}}}, {}, ["a", "b/c", "b/d"]),
        ({"a": [1, 2]}, {}, ["a"]),
        ({"a": [1, integers(0, 3)]}, {}, ["a/1"]),
        ({"a": {"b": 1}}, {"a": choice(1, 2)}, ["a"]),
        ({"a": None}, {"a": {"b": 1, "c": uniform(0.0, 1.0)}}, ["a/b", "a/c"]),
        ({"a/b": 1, "c": {"d": 1}}, {"a/b": 2, "c/d": 3}, ["a/b", "c/d"]),
        ({}, {}, []),
    ],
)
def test_each_value_is_a_knob_by_its_path(
    config: dict[Any, Any], space: dict[Any, Any], leaves: list[str]
) -> None:
    knobs = Knobs(config, space, {})
    assert list(knobs.leaves) == leaves
    assert not knobs.problems


def test_values_of_config_space_and_baseline_are_told_apart() -> None:
    leaf = Knobs({"a": 1}, {"a": 2}, {"a": 3}).leaves["a"]
    assert (leaf.default, leaf.given, leaf.start) == (1, 2, 3)
    varied = Knobs({"a": {"b": 1}}, {"a": {"b": integers(0, 9)}}, {"a/b": 3}).leaves["a/b"]
    assert (varied.default, str(varied.given), varied.start) == (1, "integers(0, 9)", 3)


def test_unknown_names_are_noted() -> None:
    assert Knobs({"a": {"b": 1}}, {"a": {"c": 1}, "d": 2}, {"e": 3}).unknown == ["a/c", "d", "e"]
