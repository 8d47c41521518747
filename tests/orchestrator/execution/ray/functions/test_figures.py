"""What of a report is recorded."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator.execution.ray.functions.figures import ends_with, figures_of


@pytest.mark.parametrize(
    ("reported", "recorded"),
    [
        ({"val": {"top1": 0.5, "by": {"a": 1}}, "name": "x", "list": [1, 2]},
         {"val/top1": 0.5, "val/by/a": 1.0}),
        ({"n": np.float32(2), "d": True, "z": np.array(3), "v": np.ones(2), "b": np.bool_(True)},
         {"n": 2.0, "d": 1.0, "z": 3.0, "b": 1.0}),
        ({"f": Fraction(1, 4), "d": Decimal("0.5"), "c": 1j, "none": None}, {"f": 0.25, "d": 0.5}),
        ({1: 2, "done": True, "config": {"lr": 1}, "pid": 7, "trial_id": "x"}, {"1": 2.0}),
    ],
)  # fmt: skip
def test_numbers_are_recorded_by_name(reported: dict[Any, Any], recorded: dict[str, float]) -> None:
    assert figures_of(reported) == recorded


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ({"x": torch.tensor(0.5)}, "x"),
        ({"x": {"y": torch.zeros(2)}}, "x/y"),
        ({"x": [1, torch.zeros(2)]}, "x"),
    ],
)
def test_tensors_are_refused_as_ray_tune_does(reported: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is a tensor, which Ray Tune refuses"):
        figures_of(reported)


def test_a_training_ends_with_a_figure_or_when_it_is_done() -> None:
    assert ends_with({"done": True}, {})
    assert not ends_with({"done": False, "a": 5}, {"b": 1})
    assert ends_with({"a": {"b": 5}}, {"a/b": 5})
    assert not ends_with({"a": 4.9}, {"a": 5})
