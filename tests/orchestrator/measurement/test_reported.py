from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from orchestrator.measurement.reported import checked_figures


def test_whatever_holds_a_single_number_is_one() -> None:
    figures = {
        "val_acc": torch.tensor(0.5), "own": np.float32(2.0), "steps": 3, "done": True,
        "one": torch.tensor([1.0]), "matrix": np.array([[0.5]]),
    }  # fmt: skip
    checked = checked_figures(figures, 0)
    assert checked == {
        "val_acc": 0.5, "own": 2.0, "steps": 3.0, "done": 1.0, "one": 1.0, "matrix": 0.5,
    }  # fmt: skip
    assert {type(figure) for figure in checked.values()} == {float}


def test_an_accuracy_may_be_beyond_its_ends_by_a_rounding() -> None:
    assert checked_figures({"val_acc": 1 + 1e-7, "test_acc": -1e-9}, 0) == {
        "val_acc": 1.0, "test_acc": 0.0,
    }  # fmt: skip
    assert checked_figures({"loss": 1 + 1e-7}, 0) == {"loss": 1 + 1e-7}


def test_an_accuracy_that_is_not_known_is_no_error() -> None:
    assert math.isnan(checked_figures({"val_auc": float("nan")}, 0)["val_auc"])


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("train_loss", float("nan"), FloatingPointError, "train_loss is nan after step 30"),
        ("train_loss", float("inf"), FloatingPointError, "train_loss is inf after step 30"),
        ("val_acc", -math.inf, FloatingPointError, "val_acc is -inf after step 30"),
        ("own_figure", math.inf, FloatingPointError, "own_figure is inf after step 30"),
        ("val_acc", 93.4, ValueError,
         "val_acc is 93.4, and accuracies are fractions of 1: divide it by 100"),
        ("test_acc", -0.1, ValueError, "test_acc is -0.1, and accuracies are fractions of 1"),
        ("val_acc", 640, ValueError, "val_acc is 640, and accuracies are fractions of 1"),
        ("val_acc", "0.5", TypeError, "val_acc is reported as a str: report one number"),
        ("val_acc", None, TypeError, "val_acc is reported as a NoneType: report one number"),
        ("own", torch.zeros(2), TypeError, "own is reported as a Tensor: report one number"),
        ("own", 10**400, TypeError, "own is reported as a int: report one number"),
        ("own", {"a": 1}, TypeError, "own is reported as a dict: report one number"),
    ],
)  # fmt: skip
def test_what_is_no_figure_is_refused(
    name: str, value: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        checked_figures({"fine": 1.0, name: value}, 30)
