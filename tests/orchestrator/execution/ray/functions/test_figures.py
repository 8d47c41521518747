"""What of a report is recorded."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator.execution.ray.functions.figures import figures_of, refuse_tensors


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
    ("reported", "says"),
    [
        ({"x": torch.tensor(0.5)}, "x is a tensor"),
        ({"x": {"y": torch.zeros(2)}}, "x/y is a tensor"),
        ({"x": [1, ({"y": torch.zeros(2)},)]}, "x/y is a tensor"),
        ({"x": torch.nn.Linear(1, 1)}, "x is a module"),
    ],
)
def test_tensors_are_refused_as_ray_tune_does(reported: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"{says}, which Ray Tune refuses"):
        refuse_tensors(reported)


def test_what_torch_has_beside_tensors_and_numbers_beyond_floats_are_taken() -> None:
    beside = {"shape": torch.Size([2]), "kind": torch.float32, "huge": 10**400, "low": -(10**400)}
    refuse_tensors(beside)
    assert figures_of(beside) == {"huge": float("inf"), "low": -float("inf")}
