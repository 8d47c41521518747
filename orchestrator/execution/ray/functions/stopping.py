"""When a training ends, as under Ray Tune's ``RunConfig(stop=...)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any, Final

from orchestrator.execution.ray.functions.figures import flattened
from orchestrator.field_types import shown

Stop = Mapping[str, float] | Callable[[str, dict[str, Any]], bool] | Sequence[Any]
"""The value by metric from which on a training ends; a function; Ray Tune's stoppers."""

_OF_ALL_TRIALS: Final = {
    "TimeoutStopper": "say how long the sweep may take: --time-budget 30m",
    "ExperimentPlateauStopper": "say how many configs are tried: search=Random(20)",
}
"""Stoppers that end an experiment, not a trial."""


def ends_with(result: Mapping[str, Any], stop: Stop, trial_id: str = "") -> bool:
    """Return True if the training ends with this report.

    Args:
        result: What was reported, with what Ray Tune fills in.
        stop: When it ends.
        trial_id: The trial's id.
    """
    if isinstance(stop, Mapping):
        values = dict(flattened(result)) if stop else result
        if values.get("done"):
            return True
        return any(name in values and values[name] >= value for name, value in stop.items())
    stoppers = stop if isinstance(stop, Sequence) else [stop]
    # Each is called: one that counts must see every report.
    ended = [each(trial_id, dict(result)) or _ends_all(each) for each in stoppers]
    return any(ended) or bool(result.get("done"))


def problem_of(stop: Any) -> tuple[str, str] | None:  # noqa: ANN401 - whatever a user gives
    """Return what is wrong with a ``stop``, and what is allowed; None if nothing is."""
    if isinstance(stop, Mapping):
        return _problem_of_values(stop)
    stoppers = stop if isinstance(stop, (list, tuple)) else [stop]
    for each in stoppers:
        if hint := _OF_ALL_TRIALS.get(type(each).__name__):
            return f"stop = {type(each).__name__} ends all trials together", hint
        try:
            inspect.signature(each).bind("", {})
        except TypeError:
            return (
                f"stop = {shown(each)} is not allowed",
                'allowed: {"training_iteration": 10}, a function of trial_id and result, a stopper '
                "of Ray Tune's, or a list of stoppers",
            )
    return None


def _problem_of_values(stop: Mapping[Any, Any]) -> tuple[str, str] | None:
    for name, value in stop.items():
        if isinstance(value, Mapping):
            inner = next(iter(value), "inner")
            hint = f'name what is nested in one: stop={{"{name}/{inner}": ...}}'
            return f"stop[{name!r}] is a dictionary", hint
        if not isinstance(value, Number):
            return f"stop[{name!r}] = {shown(value)} is no number", "allowed: numbers by metric"
    return None


def _ends_all(stopper: Any) -> bool:  # noqa: ANN401 - a function or a stopper
    """Return True where a stopper says that its experiment ends, of which it sees this trial."""
    return bool(stopper.stop_all()) if hasattr(stopper, "stop_all") else False
