"""Ray Tune's domains in ours, recognised by shape: Ray need not be installed."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Final, cast

from orchestrator.field_types import shown
from orchestrator.space.domains import Choice, Interval, normal

_TAKEN: Final = (
    "taken are tune.choice, tune.grid_search, tune.uniform, tune.loguniform, tune.randint, "
    "tune.lograndint, tune.randn and their quantized forms"
)


def from_ray_tune(value: object) -> object:
    """Return our counterpart of one of Ray Tune's domains; anything else as it is.

    Raises:
        ValueError: The domain is one that has no counterpart here (``sample_from``), or a grid of
            what is no list of values.
    """
    if isinstance(value, dict) and set(value) == {"grid_search"}:
        return _grid(value)
    if not is_ray_domain(value):
        return value
    domain = cast("Any", value)
    kind, sampler, step = type(value).__name__, domain.get_sampler(), None
    if type(sampler).__name__ == "Quantized":
        sampler, step = sampler.get_sampler(), sampler.q
    scale = type(sampler).__name__
    if kind == "Categorical":
        return Choice(tuple(domain.categories))
    if kind == "Integer" and scale in {"_Uniform", "_LogUniform"}:
        return _integers(domain, step, log=scale == "_LogUniform")
    if kind == "Float" and scale in {"_Uniform", "_LogUniform"}:
        low, high = _on_grid(float(domain.lower), float(domain.upper), step)
        return Interval(low, high, log=scale == "_LogUniform", step=step)
    if kind == "Float" and scale == "_Normal":
        return normal(sampler.mean, sampler.sd, step=step)
    name = "tune.sample_from" if kind == "Function" else f"Ray Tune's {kind} ({scale.lstrip('_')})"
    raise ValueError(f"{name} has no counterpart here; {_TAKEN}")


def is_ray_domain(value: object) -> bool:
    """Return True for one of Ray Tune's domains, but for ``tune.grid_search``, a dictionary."""
    return type(value).__module__.startswith("ray.tune.search") and hasattr(value, "get_sampler")


def _grid(given: dict[str, Any]) -> Choice:
    """Return the values of a ``tune.grid_search``; an iterator's are kept in it for the next time.

    Raises:
        ValueError: It has none.
    """
    values = given["grid_search"]
    try:
        is_iterator = iter(values) is values
    except TypeError:
        message = f"grid_search of {shown(values)}: give a list of values"
        raise ValueError(message) from None
    if is_iterator:
        given["grid_search"] = values = tuple(values)
    return Choice(tuple(values))


def _integers(domain: Any, step: int | None, *, log: bool) -> Interval:  # noqa: ANN401 - Ray's own
    """Return whole numbers; Ray's upper end is excluded, unless they are quantized."""
    if step in {None, 1}:
        return Interval(_whole(domain.lower), _whole(domain.upper) - 1, log=log, integer=True)
    low, high = _on_grid(domain.lower, domain.upper, step)
    return Interval(int(low), int(high), log=log, integer=True, step=step)


def _whole(end: Any) -> Any:  # noqa: ANN401 - whatever was given as an end
    """Return an end of whole numbers as one, if it is: 1 for 1.0 and for NumPy's numbers."""
    if isinstance(end, Integral):
        return int(end)
    return int(float(end)) if isinstance(end, Real) and float(end).is_integer() else end


def _on_grid(low: float, high: float, step: float | None) -> tuple[float, float]:
    """Return the first and last multiple of ``step`` in a range; its ends without one."""
    if not step:
        return low, high
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return (float(f"{first * step:.12g}"), float(f"{last * step:.12g}"))
