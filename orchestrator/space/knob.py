"""Knob: its type, range, role and reason, and the check of its values."""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from orchestrator.errors import nearest
from orchestrator.field_types import MOST_OF_AN_INT, plain, shown
from orchestrator.space.domains import Choice, Interval, from_ray_tune
from orchestrator.texts import bounded, bounded_name

MOST_OF_A_TEXT: Final = 1_000
"""Characters of the longest text that a knob takes: it stands in every row and figure."""

TYPES = "int, float, bool, str, Literal[...] or tuple[int, ...]"

_SIGNS: Final[dict[str, tuple[str, Callable[[float, float], bool]]]] = {
    "ge": (">=", operator.ge),
    "gt": (">", operator.gt),
    "le": ("<=", operator.le),
    "lt": ("<", operator.lt),
}
"""Ends of a range: the sign and the comparison of a number with the end."""


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
        if self._is_literal:
            return all(isinstance(option, (int, float, str)) for option in self.options)
        return self.type in {int, float, bool, str} or self._is_tuple

    @property
    def options(self) -> tuple[Any, ...]:
        """Values of a ``Literal`` or of a switch; empty for the other types."""
        if self._is_literal:
            return get_args(self.type)
        return (False, True) if self.type is bool else ()

    @property
    def allowed(self) -> str:
        """Allowed values, in words."""
        if self.options:
            return "one of " + ", ".join(repr(value) for value in self.options)
        text = f"a str of at most {MOST_OF_A_TEXT:,} printable characters"
        kinds = {int: "an int", float: "a float", str: text}
        limits = [f"{sign} {end:g}" for sign, _, end in self._ends()]
        each = "each " if self._is_tuple and limits else ""
        return f"{kinds.get(self.type, 'a tuple of int')} {each}{' and '.join(limits)}".strip()

    def _ends(self) -> list[tuple[str, Callable[[float, float], bool], float]]:
        """Return the ends of its range, each with its sign and its comparison."""
        given = [(sign, holds, getattr(self, name)) for name, (sign, holds) in _SIGNS.items()]
        return [each for each in given if each[-1] is not None]

    @property
    def _is_tuple(self) -> bool:
        return get_origin(self.type) is tuple and get_args(self.type) == (int, ...)

    @property
    def _is_literal(self) -> bool:
        return get_origin(self.type) is Literal

    def checked(self, value: object) -> Any:  # noqa: ANN401 - the knob's own type
        """Return ``value`` as the knob's own type; a NumPy scalar becomes a plain number.

        Raises:
            ValueError: It is not of the type, or not in the range.
        """
        value = plain(value)
        if self.options:
            for option in self.options:
                if type(value) is type(option) and value == option:
                    return option
        elif self._is_tuple:
            if isinstance(value, (tuple, list)) and value:
                return tuple(self._number(item, int) for item in value)
        elif self.type is not str:
            return self._number(value, self.type)
        elif type(value) is str and value == bounded(value, MOST_OF_A_TEXT):
            return value
        raise ValueError

    def _number(self, value: object, kind: type) -> float:
        number: float = msgspec.convert(plain(value), kind)  # its errors are ValueErrors
        is_short = abs(number) < MOST_OF_AN_INT if kind is int else math.isfinite(number)
        if not is_short or not all(holds(number, end) for _, holds, end in self._ends()):
            raise ValueError
        return number

    def refuses(self, value: object) -> bool:
        """Return True if ``value`` is none that the knob can have."""
        try:
            self.checked(value)
        except ValueError:
            return True
        return False

    def accepted(self, value: object) -> Any:  # noqa: ANN401 - the knob's own type, or a domain
        """Return a value, or a domain of values, as the knob's own type.

        Raises:
            ValueError: What is wrong with it, to follow the knob's name.
        """
        try:
            value = from_ray_tune(value)
        except ValueError as error:
            raise ValueError(f": {error}") from None
        if not isinstance(value, (Choice, Interval)):
            if self.refuses(value):
                close = nearest(str(value), map(str, self.options))
                if isinstance(value, (list, tuple)) and not any(map(self.refuses, value)):
                    close = f"; did you mean choice({', '.join(map(repr, value))})?"
                raise ValueError(f" = {shown(value)} is not allowed{close}")
            return self.checked(value)
        if problem := value.problem():
            raise ValueError(f": {problem}")
        if isinstance(value, Interval) and self.type is not (int if value.integer else float):
            kinds = {int: "integers(low, high)", float: "uniform() or loguniform()"}
            raise ValueError(f": it takes {kinds.get(self.type, 'choice(...)')}, not {value}")
        for each in value.bounds():
            if self.refuses(each):
                raise ValueError(f": {shown(each)} in {bounded_name(str(value))} is not allowed")
        ends = tuple(map(self.checked, value.bounds()))
        return (
            Choice(ends) if isinstance(value, Choice) else replace(value, low=ends[0], high=ends[1])
        )

    def parsed(self, text: str) -> Any:  # noqa: ANN401 - the knob's own type
        """Return the value that ``text`` stands for on a command line.

        Raises:
            ValueError: It stands for none.
        """
        if self._is_literal:
            switches = {str(o).lower(): o for o in self.options if isinstance(o, bool)}
            named = switches | {str(option): option for option in self.options}
            return self.checked(named.get(text, text))
        if self._is_tuple:
            items = text.strip("()[] ").rstrip(",").split(",")
            return self.checked(tuple(int(item) for item in items))
        return self.checked(msgspec.convert(text, self.type, strict=False))
