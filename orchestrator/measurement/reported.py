"""What a training function reports, checked where it is reported."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from orchestrator.metrics import is_accuracy


def checked_figures(metrics: Mapping[str, Any], num_steps: int) -> dict[str, float]:
    """Return the figures as plain numbers.

    Args:
        metrics: By name: a number, or what holds a single one, such as a tensor.
        num_steps: Steps taken so far, for the message.

    Raises:
        TypeError: A figure is no single number.
        FloatingPointError: It is infinite, or a loss that is not a number.
        ValueError: It is an accuracy that is no fraction of 1.
    """
    return {name: _checked(name, value, num_steps) for name, value in metrics.items()}


def _checked(name: str, value: Any, num_steps: int) -> float:  # noqa: ANN401 - whatever it is
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is reported as {value[:40]!r}: report a number")
    try:
        figure = float(value)
    except (TypeError, ValueError, RuntimeError):
        kind = type(value).__name__
        shape = getattr(value, "shape", None)
        of_shape = f" of shape {tuple(shape)}" if shape else ""
        raise TypeError(f"{name} is reported as a {kind}{of_shape}: report one number") from None
    if math.isinf(figure) or (math.isnan(figure) and name.endswith("loss")):
        raise FloatingPointError(f"{name} is {figure} after step {num_steps}")
    if is_accuracy(name) and (figure > 1 or figure < 0):
        hint = ": divide it by 100" if 1 < figure <= 100 else ""
        raise ValueError(f"{name} is {figure:g}, and accuracies are fractions of 1{hint}")
    return figure
