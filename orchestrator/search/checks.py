"""Checks that the searches' constructors share."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Annotated, Any, Final

from msgspec import Meta

from orchestrator.errors import SweepFileError, refuse
from orchestrator.field_types import shown, wrong_fields
from orchestrator.locations import caller

MOST: Final = 1_000_000
"""Configs that a search can go through, and so the most of anything that it counts."""

Count = Annotated[int, Meta(ge=1, le=MOST, description=f"an int >= 1 and <= {MOST:,}")]


def require_types(search: Any) -> None:  # noqa: ANN401 - any specification
    """Refuse fields of ``search`` that have a value of another type."""
    for each in wrong_fields(search):
        refuse_field(search, each.field, each.allowed)


def refuse_field(search: Any, name: str, allowed: str, guess: str = "") -> None:  # noqa: ANN401
    """Refuse a field; it gets its default, so that the sweep file is read to its end."""
    what = f"{name} = {shown(getattr(search, name))} is not allowed{guess}"
    message = f"{caller(name)}{type(search).__name__}: {what}"
    refuse([SweepFileError(message, f"allowed: {allowed}")])
    default = next(entry.default for entry in fields(search) if entry.name == name)
    if default is not MISSING:
        object.__setattr__(search, name, default)
