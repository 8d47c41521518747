"""What of a report to Ray Tune is recorded, and whether the training ends with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from numbers import Number
from typing import Any, Final

FILLED: Final = frozenset({
    "trial_id", "experiment_id", "date", "timestamp", "pid", "hostname", "node_ip", "config",
    "time_this_iter_s", "time_total_s", "time_since_restore", "iterations_since_restore",
    "timesteps_since_restore", "timesteps_total", "episodes_total", "training_iteration", "done",
    "should_checkpoint", "checkpoint_dir_name", "__duplicate__",
})  # fmt: skip
"""Names that Ray Tune fills in or obeys: recorded where a sweep asks for them."""


def figures_of(metrics: Mapping[Any, Any], asked: Collection[str] = ()) -> dict[str, float]:
    """Return the numbers of a report, nested ones as ``outer/inner``, as Ray Tune names them.

    Args:
        metrics: What was reported.
        asked: Those of :data:`FILLED` that are wanted, too.

    Raises:
        ValueError: A metric is a tensor, which Ray Tune does not take.
    """
    own = {key: value for key, value in metrics.items() if key not in FILLED or key in asked}
    return {
        name: float(number)
        for name, value in flattened(own)
        if (number := _number(value)) is not None
    }


def flattened(metrics: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested dictionaries by name.

    Raises:
        ValueError: One is a tensor, or a list with one.
    """
    for key, value in metrics.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from flattened(value, f"{name}/")
            continue
        items = value if isinstance(value, (list, tuple)) else (value,)
        if any(type(item).__module__.partition(".")[0] == "torch" for item in items):
            raise ValueError(f"{name} is a tensor, which Ray Tune refuses: report its .item()")
        yield name, value


def ends_with(metrics: Mapping[Any, Any], stop: Mapping[str, float]) -> bool:
    """Return True if the training ends with this report, as under ``RunConfig(stop=...)``.

    Args:
        metrics: What was reported, with what Ray Tune fills in.
        stop: The value by metric from which on it ends.
    """
    reported = dict(flattened(metrics))
    if reported.get("done"):
        return True
    return any(name in reported and reported[name] >= value for name, value in stop.items())


def _number(value: Any) -> Any:  # noqa: ANN401 - any object
    """Return what has one real number as such; None where it has none."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # of NumPy
        value = value.item()
    return value if isinstance(value, Number) and not isinstance(value, complex) else None
