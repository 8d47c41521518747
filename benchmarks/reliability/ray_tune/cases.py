"""Kinds of cases, and the list that functions of one signature are noted in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

Config = dict[str, Any]

CASES: Final[dict[str, Callable[[Config], Any]]] = {}
"""Functions by name."""


def case(function: Callable[[Config], Any]) -> Callable[[Config], Any]:
    """Note a function as one of the suite."""
    CASES[function.__name__.replace("_", " ")] = function
    return function


@dataclass(frozen=True)
class Wrapped:
    """What is handed over, and when its training ends.

    Attributes:
        function: The callable or class.
        stop: As of ``RunConfig(stop=...)``.
        asked: Figures that Ray Tune fills in, and that are compared as well.
    """

    function: Any
    stop: Any = field(default_factory=dict)
    asked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Space:
    """A ``param_space``.

    Attributes:
        space: The dictionary.
        derived: Keys whose values are computed from the others.
        options: Keys whose values are dictionaries or lists with domains in them.
    """

    space: dict[Any, Any]
    derived: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def apart(self) -> bool:
        """True where it must be the whole space of a Tuner."""
        grids = [v for v in self.space.values() if isinstance(v, dict) and "grid_search" in v]
        return bool(self.derived or self.options or grids)


@dataclass(frozen=True)
class Refused:
    """A ``param_space`` that is refused when the sweep is loaded.

    Attributes:
        space: The dictionary.
        says: What the message says, the key among it.
    """

    space: dict[Any, Any] = field(default_factory=dict)
    says: tuple[str, ...] = ()
