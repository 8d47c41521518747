"""Whether a config that a search proposes lies in the space, and in what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.errors import nearest
from orchestrator.field_types import shown
from orchestrator.kernel.problem import SearchProblem
from orchestrator.space.domains import Choice


def not_within(problem: SearchProblem, config: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what of a config is not in the space, and what is allowed; None for one within.

    The baseline may lie outside, and so may the default of a knob that has no effect.
    """
    for name in config:
        if name not in problem.base:
            text = f"{shown(name)}, which is not a knob{nearest(str(name), problem.base)}"
            return text, f"the knobs {', '.join(problem.base)}"
    if missing := [name for name in problem.base if name not in config]:
        return f"a config without {', '.join(missing)}", "a config with a value for every knob"
    if _is_same(config, dict(problem.baseline)):
        return None
    for name, value in config.items():
        if not _is_allowed(problem, config, name):
            text = f"{name} = {shown(value)}, which is not in the space"
            return text + _nearest(problem, name, value), _of(problem, name)
    if not problem.admissible(config):
        text = f"{shown(dict(config))}, which the sweep's constraints exclude"
        return text, "a config of which problem.admissible(config) is True"
    return None


def _is_allowed(problem: SearchProblem, config: Mapping[str, Any], name: str) -> bool:
    """Return True where a knob has a value of the space, or its default and no effect."""
    value, domain = config[name], problem.domains.get(name)
    if domain is None:
        inside, is_inside = problem.base[name], _is_same(value, problem.base[name])
    else:
        inside, is_inside = domain.points(1)[0], _contains(domain, value)
    return is_inside or _is_same(problem.canonical({**config, name: inside})[name], value)


def _contains(domain: Any, value: object) -> bool:  # noqa: ANN401 - either kind of domain
    try:
        return bool(domain.contains(value))
    except Exception:  # noqa: BLE001 - a value of any type: arrays have no truth
        return False


def _is_same(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - as above
        return False


def _nearest(problem: SearchProblem, name: str, value: object) -> str:
    domain = problem.domains.get(name)
    if not (isinstance(value, str) and isinstance(domain, Choice)):
        return ""
    return nearest(value, [option for option in domain.values if isinstance(option, str)])


def _of(problem: SearchProblem, name: str) -> str:
    """Return the values that a knob may have, in words."""
    domain = problem.domains.get(name)
    if domain is None:
        return f"{shown(problem.base[name])}, as the space has it: {name} does not vary"
    return shown(domain)
