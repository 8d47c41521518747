"""``from_function``: a trainable of a function of keywords."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Number
from typing import Any

from orchestrator.errors import SweepFileError
from orchestrator.execution.ray.functions.from_ray import from_ray
from orchestrator.locations import caller
from orchestrator.metrics import Objective
from orchestrator.trainable import Trainable, kind_of


def from_function(
    function: Callable[..., Any],
    *,
    reports: Sequence[Objective],
    config: Mapping[str, Any] | None = None,
    **more: Any,  # noqa: ANN401 - as of from_ray
) -> Trainable[Any]:
    """Make a trainable of a function of keywords: ``def train(lr=0.1, workers=0): ... return acc``.

    It runs once a trial. It returns a dictionary of figures, or one number, which is the first of
    ``reports``. ``minimize("time_total_s")`` is the time of the call.

    Args:
        function: Each of its parameters has a default, here or in ``config``.
        reports: Metrics that it returns, with their directions.
        config: Values in place of its defaults; one with a domain varies.
        more: Other arguments of :func:`~orchestrator.from_ray`.

    Raises:
        SweepFileError: A parameter has no default, or ``config`` names another one.
    """
    own = inspect.signature(function).parameters.values()
    keywords = [each for each in own if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    values = {each.name: each.default for each in keywords} | dict(config or {})
    missing = [name for name, value in values.items() if value is inspect.Parameter.empty]
    name = getattr(function, "__name__", type(function).__name__)
    if missing:
        hint = f"give it one, or config={{{missing[0]!r}: ...}}"
        if kind_of(function) == "from_optuna":
            hint = "an Optuna objective is taken by from_optuna"
        elif missing == list(values) and len(missing) == 1:
            hint += "; a function of one dictionary, written for Ray Tune, is taken by from_ray"
        message = f"{caller()}from_function: {missing[0]} of {name} has no default"
        raise SweepFileError(message, hint)
    try:
        inspect.signature(function).bind(**values)
    except TypeError as error:
        allowed = f"allowed: {', '.join(each.name for each in keywords)}"
        raise SweepFileError(f"{caller('config')}from_function: {name}: {error}", allowed) from None

    @wraps(function)
    def on_dictionary(given: dict[str, Any]) -> Any:  # noqa: ANN401 - as Ray Tune takes it
        returned = function(**given)
        return {reports[0].metric: returned} if isinstance(returned, Number) else returned

    on_dictionary.__signature__ = inspect.signature(lambda config: None)  # type: ignore[attr-defined]
    return from_ray(on_dictionary, config=values, reports=reports, **more)
