"""Checks that the searches' constructors share."""

from __future__ import annotations

from orchestrator.errors import SweepFileError, refuse
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
