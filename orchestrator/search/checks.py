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


def require_positive(search: object, name: str) -> None:
    """Refuse a count of ``search`` that is not a whole number from 1 to a million."""
    value = getattr(search, name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        message = f"{caller(name)}{type(search).__name__}: {name} = {shown(value)} is not allowed"
        limit = f" and <= {MOST:,}" if isinstance(value, int) and value > MOST else ""
        refuse([SweepFileError(message, "allowed: an int >= 1" + limit)])
        take_default(search, name)


def require_one_of(search: object, name: str, options: Iterable[str]) -> bool:
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
    wrong = wrong_fields(search)
    name = type(search).__name__
    refuse(
        [
            SweepFileError(
                f"{caller(each.field)}{name}: {each} is not allowed", f"allowed: {each.allowed}"
            )
            for each in wrong
        ]
    )
    for each in wrong:
        take_default(search, each.field)
    return not wrong


def take_default(search: Any, name: str) -> None:  # noqa: ANN401 - any specification
    """Give a field that was refused its default: a sweep file is read to its end all the same.

    What is made of a wrong value could be without end: the rungs from a grace below 0.
    """
    default = next(entry.default for entry in fields(search) if entry.name == name)
    if default is not MISSING:
        object.__setattr__(search, name, default)
