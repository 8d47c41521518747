"""Knob: its type, range, role and reason, and the check of its values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Literal, cast, get_args, get_origin

from orchestrator.field_types import MOST_OF_AN_INT, shown
from orchestrator.space.domains import Choice, Domain, Interval
from orchestrator.texts import bounded, bounded_name

MOST_OF_A_TEXT: Final = 1_000
"""Characters of the longest text that a knob takes: it stands in every row and figure."""

TYPES = "int, float, bool, str, Literal[...] or tuple[int, ...]"


class Role(StrEnum):
    """Effect of a knob."""

    SYSTEMS = "systems"
    """Speed only, never what is learned."""
    LEARNING = "learning"
    """What is learned, not the time of a step."""
    BOTH = "both"
    """Speed and what is learned."""


@dataclass(frozen=True, kw_only=True)
class Knob:
    """Setting of a trainable.

    Attributes:
        name: The field's name.
        type: ``int``, ``float``, ``bool``, ``str``, a ``Literal`` or ``tuple[int, ...]``.
        default: Value where none is given.
        role: Effect.
        ge: Smallest value allowed.
        gt: Value it must exceed.
        le: Largest value allowed.
        lt: Value it must stay below.
        unit: Unit, empty for counts and switches.
        doc: Meaning and consequence, one line.
        applies: Returns True for a config in which the knob can have any effect; in the others
            the canonical config has ``default``.
    """

    name: str = ""
    type: Any = None
    default: Any
    role: Role
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    unit: str = ""
    doc: str
    applies: Callable[[Any], bool] | None = None

    @property
    def supported(self) -> bool:
        """True where ``type`` is one that a knob can have."""
        return (
            self.type in {int, float, bool, str}
            or self._is_literal
            or (self._is_tuple and get_args(self.type) == (int, ...))
        )

    @property
    def options(self) -> tuple[Any, ...]:
        """Values of a ``Literal`` or of a switch; empty for the other types."""
        if self._is_literal:
            return get_args(self.type)
        return (False, True) if self.type is bool else ()

    @property
    def ends(self) -> dict[str, float]:
        """Ends of its range, by field."""
        given = {"ge": self.ge, "gt": self.gt, "le": self.le, "lt": self.lt}
        return {name: end for name, end in given.items() if end is not None}

    @property
    def allowed(self) -> str:
        """Allowed values, in words."""
        if self.options:
            return "one of " + ", ".join(repr(value) for value in self.options)
        text = f"a str of at most {MOST_OF_A_TEXT:,} printable characters"
        kinds = {int: "an int", float: "a float", str: text}
        signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
        limits = [f"{signs[name]} {end:g}" for name, end in self.ends.items()]
        each = "each " if self._is_tuple and limits else ""
        return f"{kinds.get(self.type, 'a tuple of int')} {each}{' and '.join(limits)}".strip()

    @property
    def _is_tuple(self) -> bool:
        return get_origin(self.type) is tuple

    @property
    def _is_literal(self) -> bool:
        return get_origin(self.type) is Literal

    def checked(self, value: object) -> Any:  # noqa: ANN401 - the knob's own type
        """Return ``value`` as the knob's own type; a NumPy scalar becomes a plain number.

        Raises:
            ValueError: It is not of the type, or not in the range.
        """
        if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
            value = cast("Any", value).item()
        if self.options:
            return self._option(value)
        if self._is_tuple:
            if not isinstance(value, (tuple, list)) or not value:
                raise ValueError
            return tuple(self._number(item, int) for item in value)
        if self.type is not str:
            return self._number(value, self.type)
        if type(value) is not str or value != bounded(value, MOST_OF_A_TEXT):
            raise ValueError
        return value

    def _option(self, value: object) -> Any:  # noqa: ANN401 - the knob's own type
        for option in self.options:
            if value == option and type(value) is type(option):
                return option
        raise ValueError

    def _number(self, value: object, kind: type) -> float:
        allowed = numbers.Integral if kind is int else numbers.Real
        if isinstance(value, bool) or not isinstance(value, allowed):
            raise ValueError
        try:
            number = cast("float", kind(value))
        except OverflowError:
            raise ValueError from None
        if not math.isfinite(number) or (kind is int and abs(number) >= MOST_OF_AN_INT):
            raise ValueError
        if (
            (self.ge is not None and number < self.ge)
            or (self.gt is not None and number <= self.gt)
            or (self.le is not None and number > self.le)
            or (self.lt is not None and number >= self.lt)
        ):
            raise ValueError
        return number

    def refuses(self, value: object) -> bool:
        """Return True if ``value`` is none that the knob can have."""
        try:
            self.checked(value)
        except ValueError:
            return True
        return False

    def problems_with(self, domain: Domain) -> list[str]:
        """Return the problems of ``domain`` as this knob's, each to follow the knob's name."""
        if problem := domain.problem():
            return [f": {problem}"]
        if isinstance(domain, Interval):
            kinds = {int: "integers(low, high)", float: "uniform() or loguniform()"}
            takes = kinds.get(self.type, "choice(...)")
            if self.type is not (int if domain.integer else float):
                return [f": it takes {takes}, not {domain}"]
        return [
            f": {shown(value)} in {bounded_name(str(domain))} is not allowed"
            for value in domain.bounds()
            if self.refuses(value)
        ]

    def varied_over(self, domain: Domain) -> Domain:
        """Return a domain without :meth:`problems_with` it, its values as the knob's own type."""
        if isinstance(domain, Choice):
            return Choice(tuple(map(self.checked, domain.values)))
        low, high = map(self.checked, domain.bounds())
        return replace(domain, low=low, high=high)

    def parsed(self, text: str) -> Any:  # noqa: ANN401 - the knob's own type
        """Return the value that ``text`` stands for on a command line.

        Raises:
            ValueError: It stands for none.
        """
        if self.type is bool:
            switch = {"true": True, "1": True, "false": False, "0": False}
            return self.checked(switch.get(text.lower()))
        if self._is_literal:
            switches = {str(o).lower(): o for o in self.options if isinstance(o, bool)}
            named = switches | {str(option): option for option in self.options}
            return self.checked(named.get(text, text))
        if self._is_tuple:
            items = text.strip("()[] ").rstrip(",").split(",")
            return self.checked(tuple(int(item) for item in items))
        return self.checked(self.type(text))
