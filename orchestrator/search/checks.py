"""Checks that the searches' constructors share."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import SweepFileError, nearest, refuse
from orchestrator.locations import caller


def require_positive(search: object, name: str) -> None:
    """Refuse a count of ``search`` that is not a whole number of at least 1."""
    value = getattr(search, name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        message = f"{caller(name)}{type(search).__name__}: {name} = {value!r} is not allowed"
        refuse([SweepFileError(message, "allowed: an int >= 1")])


def require_fraction(search: object, name: str) -> None:
    """Refuse a figure of ``search`` that is not between 0 and 1, the two excluded."""
    value = getattr(search, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        message = f"{caller(name)}{type(search).__name__}: {name} = {value!r} is not allowed"
        refuse([SweepFileError(message, "allowed: a fraction of 1, > 0 and < 1")])


def require_one_of(search: object, name: str, options: Iterable[str]) -> bool:
    """Refuse a word of ``search`` that is none of ``options``; return True if it is one."""
    value, known = getattr(search, name), [str(option) for option in options]
    if isinstance(value, str) and value in known:
        return True
    message = f"{caller(name)}{type(search).__name__}: {name} = {value!r} is not allowed"
    refuse([SweepFileError(message + nearest(str(value), known), f"allowed: {', '.join(known)}")])
    return False
