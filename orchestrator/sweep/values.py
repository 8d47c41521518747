"""Findings about a sweep's fields, and the checks of a value that they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from orchestrator.field_types import shown

Finding = tuple[str, str, str]
"""A field of the sweep, what is wrong with it, and what is allowed."""


def refused(value: object) -> str:
    """Return the words for a value that is not allowed."""
    return f" = {shown(value)} is not allowed"


def is_whole(value: object, least: int, most: int | None = None) -> bool:
    """Return True for an int of at least ``least`` and at most ``most``."""
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return value >= least and (most is None or value <= most)


def is_number(value: object, holds: Callable[[float], bool] = lambda _: True) -> bool:
    """Return True for a finite number that ``holds`` is true of."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value) and holds(value)
    except OverflowError:  # an int beyond all floats
        return False


def is_list(value: object) -> bool:
    """Return True for a sequence that is no text."""
    return isinstance(value, Sequence) and not isinstance(value, str)
