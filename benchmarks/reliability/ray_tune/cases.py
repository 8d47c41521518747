"""The list that functions of one signature are noted in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Config = dict[str, Any]

CASES: Final[dict[str, Callable[[Config], Any]]] = {}
"""Functions by name."""


def case(function: Callable[[Config], Any]) -> Callable[[Config], Any]:
    """Note a function as one of the suite."""
    CASES[function.__name__.replace("_", " ")] = function
    return function
