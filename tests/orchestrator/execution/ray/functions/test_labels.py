"""Values of knobs for objects of any kind."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from orchestrator.execution.ray.functions.labels import Labels
from orchestrator.space.domains import Interval


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
        ([Thing(), abs, dict], None, ["<test_labels.Thing object>", "abs", "dict"]),
        ([{"b", "a"}], None, ["{'a', 'b'}"]),
        ([np.zeros(3), np.zeros(3)], None, ["array([0., 0., 0.])", "array([0., 0., 0.]) (2)"]),
    ],
)
def test_each_object_has_a_value_and_comes_back_as_it_was(
    objects: list[Any], kind: type | None, values: list[Any]
) -> None:
    labels = Labels(objects)

    found = [labels.value_of(each) for each in objects]
    assert [str(value).rpartition(".")[2] for value in found] == [
        str(value).rpartition(".")[2] for value in values
    ]
    assert [type(labels.object_of(value)) for value in found] == list(map(type, objects))
    assert all(labels.object_of(v) is each for v, each in zip(found, objects, strict=True))
    if kind is None:
        assert list(get_args(labels.type)) == found
    else:
        assert labels.type is kind


def test_numbers_beside_an_interval_are_of_its_kind() -> None:
    whole, any_number = Interval(0, 9, integer=True), Interval(0.0, 1.0)

    assert Labels([np.int64(3)], whole).type is int
    assert Labels([1], any_number).type is float
    assert Labels([1], any_number).object_of(1.0) == 1
    assert isinstance(Labels([1], any_number).object_of(1.0), int)
    with pytest.raises(ValueError, match=r"None is not a whole number, and integers\(0, 9\)"):
        Labels([None], whole)
    with pytest.raises(ValueError, match=r"0\.5 is not a whole number"):
        Labels([0.5], whole)
    with pytest.raises(ValueError, match="'a' is not a number"):
        Labels(["a"], any_number)
