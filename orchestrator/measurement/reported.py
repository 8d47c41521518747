"""Figures of a training function, checked where they are reported."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.metrics import is_accuracy

_ROUNDING: Final = 1e-6
"""How far beyond 0 and 1 a sum of shares comes in 32 bits."""


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


def _single(value: Any) -> float:  # noqa: ANN401 - whatever it is
    """Return a number, or the only one of an array of any shape."""
    item = getattr(value, "item", None) if getattr(value, "shape", None) else None
    return float(value if item is None else item())


def _checked(name: str, value: Any, num_steps: int) -> float:  # noqa: ANN401 - whatever it is
    kind = type(value).__name__
    refused = TypeError(f"{name} is reported as a {kind}: report one number")
    if isinstance(value, (str, bytes)):
        raise refused
    try:
        figure = _single(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise refused from None
    if math.isinf(figure) or (math.isnan(figure) and name.endswith("loss")):
        raise FloatingPointError(f"{name} is {figure} after step {num_steps}")
    if is_accuracy(name) and (figure > 1 or figure < 0):
        nearest = min(max(figure, 0.0), 1.0)
        if abs(figure - nearest) < _ROUNDING:
            return nearest
        hint = ": divide it by 100" if 1 < figure <= 100 else ""
        raise ValueError(f"{name} is {figure:g}, and accuracies are fractions of 1{hint}")
    return figure
