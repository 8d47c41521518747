"""Checks that the searches' constructors share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Any, Final

from orchestrator.errors import SweepFileError, nearest, refuse
from orchestrator.field_types import shown, wrong_fields
from orchestrator.locations import caller

MOST: Final = 1_000_000
"""Configs that a search can go through, and so the most of anything that it counts."""


def require_positive(search: Any, *names: str) -> None:  # noqa: ANN401 - any specification
    """Refuse counts that are no whole number from 1 to a million; a default of None is allowed."""
    kind = type(search)
    for name in names:
        value = getattr(search, name)
        if value is None and getattr(kind, name, 0) is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            message = f"{caller(name)}{kind.__name__}: {name} = {shown(value)} is not allowed"
            refuse([SweepFileError(message, f"allowed: an int >= 1 and <= {MOST:,}")])
            take_default(search, name)


def require_one_of(search: Any, name: str, options: Iterable[str]) -> bool:  # noqa: ANN401 - any
    """Refuse a word of ``search`` that is none of ``options``; return True if it is one."""
    value, known = getattr(search, name), [str(option) for option in options]
    if isinstance(value, str) and value in known:
        return True
    message = f"{caller(name)}{type(search).__name__}: {name} = {shown(value)} is not allowed"
    refuse([SweepFileError(message + nearest(shown(value), known), f"allowed: {', '.join(known)}")])
    take_default(search, name)
    return False


def require_types(search: Any) -> bool:  # noqa: ANN401 - any specification
    """Refuse fields of ``search`` that are of another type; return True if there are none."""
    wrong, name = wrong_fields(search), type(search).__name__
    for each in wrong:
        message = f"{caller(each.field)}{name}: {each} is not allowed"
        refuse([SweepFileError(message, f"allowed: {each.allowed}")])
        take_default(search, each.field)
    return not wrong


def take_default(search: Any, name: str) -> None:  # noqa: ANN401 - any specification
    """Give a field that was refused its default: the sweep file is read to its end all the same."""
    default = next(entry.default for entry in fields(search) if entry.name == name)
    if default is not MISSING:
        object.__setattr__(search, name, default)
