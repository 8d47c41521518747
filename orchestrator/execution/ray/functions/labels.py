"""Any values as values of a knob: numbers and text as they are, others by a label each.

A function of Ray Tune may be given anything: lists, None, NumPy's numbers, functions. Tables,
journals and command lines hold numbers and text. So each object has a value that stands for it,
and the function gets the object itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from orchestrator.field_types import MOST_OF_AN_INT
from orchestrator.space.domains import Interval
from orchestrator.space.knob import MOST_OF_A_TEXT
from orchestrator.texts import bounded, bounded_name

_MOST_OF_A_LABEL: Final = 100
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


class Labels:
    """Values of a knob for objects of any kind.

    Args:
        objects: All objects that it can have, but for those drawn from an interval.
        interval: What its other values are drawn from, if any.

    Raises:
        ValueError: An object is none of the numbers that are drawn.
    """

    def __init__(self, objects: Sequence[Any], interval: Interval | None = None) -> None:
        self.type: Any = _type_of(list(map(_plain, objects)), interval)
        self._objects: dict[Any, Any] = {}
        self._order: list[tuple[Any, Any]] = []
        for each in objects:
            self._add(each)
        if self.type is None:
            self.type = Literal[tuple(self._objects)]

    def value_of(self, thing: Any) -> Any:  # noqa: ANN401 - any object
        """Return the value that stands for an object.

        Raises:
            LookupError: It is none of those given.
        """
        for known, value in self._order:
            if _same(known, thing):
                return value
        raise LookupError(f"{thing!r} is none of the values")

    def object_of(self, value: Any) -> Any:  # noqa: ANN401 - any object
        """Return the object that a value stands for: itself, if no other does."""
        return self._objects.get(value, value)

    def _add(self, thing: Any) -> None:  # noqa: ANN401 - any object
        if any(_same(known, thing) for known, _ in self._order):
            return
        value = self._free(label(thing)) if self.type is None else self.type(_plain(thing))
        self._order.append((thing, value))
        self._objects.setdefault(value, thing)

    def _free(self, text: str) -> str:
        """Return a label that no other object has."""
        count, free = 1, text
        while free in self._objects:
            count += 1
            free = f"{text} ({count})"
        return free


def label(thing: Any) -> str:  # noqa: ANN401 - any object
    """Return a short text for an object, the same in every process."""
    if isinstance(thing, str):
        text = thing
    elif isinstance(thing, (set, frozenset)):
        text = "{" + ", ".join(sorted(map(repr, thing))) + "}"
    elif isinstance(thing, type) or callable(thing):
        text = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    else:
        text = " ".join(_ADDRESS.sub("", repr(thing)).split())
    return bounded_name(bounded(text, _MOST_OF_A_LABEL))


def _type_of(plain: Sequence[Any], interval: Interval | None) -> Any:  # noqa: ANN401 - a type
    """Return the type of a knob that takes all of these; None where labels stand for them."""
    kinds = {type(each) for each in plain}
    if interval is not None:
        return _type_within(plain, interval)
    if kinds == {bool} or (kinds == {int} and all(abs(n) < MOST_OF_AN_INT for n in plain)):
        return kinds.pop()
    if kinds and kinds <= {int, float} and all(_is_finite(n) and float(n) == n for n in plain):
        return float
    if kinds == {str} and all(text == bounded(text, MOST_OF_A_TEXT) for text in plain):
        return str
    return None


def _type_within(plain: Sequence[Any], interval: Interval) -> type:
    """Return the type of a knob that is drawn from an interval, and has these values beside.

    Raises:
        ValueError: One of them is no such number.
    """
    kind = int if interval.integer else float
    for each in plain:
        number = isinstance(each, (int, float)) and not isinstance(each, bool) and _is_finite(each)
        if not number or (interval.integer and each != int(each)):
            what = "a whole number" if interval.integer else "a number"
            raise ValueError(f"{each!r} is not {what}, and {interval} draws such")
    return kind


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def _plain(thing: Any) -> Any:  # noqa: ANN401 - any object
    """Return a scalar of NumPy as Python's own; anything else as it is."""
    if type(thing).__module__ == "numpy" and getattr(thing, "ndim", None) == 0:
        return thing.item()
    return thing


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any objects
    """Return True for objects that a function cannot tell apart, as far as they say."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    try:
        return bool(one == other) and repr(one) == repr(other)
    except Exception:  # noqa: BLE001 - arrays, and whatever a user's class raises
        return repr(one) == repr(other) and "..." not in repr(one)
