"""What of a report to Ray Tune is recorded: its numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Mapping
from numbers import Number
from typing import Any

from orchestrator.execution.ray.functions.filled import FILLED


def figures_of(metrics: Mapping[Any, Any], asked: Collection[str] = ()) -> dict[str, float]:
    """Return the numbers of a report, nested ones as ``outer/inner``, as Ray Tune names them.

    Args:
        metrics: What was reported.
        asked: Those of :data:`~orchestrator.execution.ray.functions.filled.FILLED` that are
            wanted, too.
    """
    own = {key: value for key, value in metrics.items() if key not in FILLED or key in asked}
    return {
        name: _as_float(number)
        for name, value in flattened(own)
        if (number := _number(value)) is not None
    }


def flattened(metrics: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested dictionaries by name."""
    for key, value in metrics.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from flattened(value, f"{name}/")
        else:
            yield name, value


def refuse_tensors(value: object, name: str = "") -> None:
    """Refuse tensors and modules at any depth, as Ray Tune does.

    Raises:
        ValueError: There is one.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            refuse_tensors(item, f"{name}/{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            refuse_tensors(item, name)
    elif isinstance(value, torch.Tensor):
        raise ValueError(f"{name} is a tensor, which Ray Tune refuses: report its .item()")
    elif isinstance(value, torch.nn.Module):
        raise ValueError(f"{name} is a module, which Ray Tune refuses: keep it in a checkpoint")


def _number(value: Any) -> Any:  # noqa: ANN401 - any object
    """Return what has one real number as such; None where it has none."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # of NumPy
        value = value.item()
    return value if isinstance(value, Number) and not isinstance(value, complex) else None


def _as_float(number: Any) -> float:  # noqa: ANN401 - any real number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
