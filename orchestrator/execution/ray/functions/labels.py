"""Any values as values of a knob: numbers and text as they are, others by a label each.

A function of Ray Tune may be given anything: lists, None, NumPy's numbers, functions. Tables,
journals and command lines hold numbers and text. So each object has a value that stands for it,
and the function gets the object itself.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from orchestrator.field_types import MOST_OF_AN_INT, shown
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
        beside: Further ones, of which 1 may stand for 1.0: defaults.

    Raises:
        ValueError: An object is none of the numbers that are drawn.
    """

    def __init__(
        self,
        objects: Sequence[Any],
        interval: Interval | None = None,
        beside: Sequence[Any] = (),
    ) -> None:
        distinct = _distinct([*objects, *beside])
        self.type: Any = _type_of(list(map(_plain, distinct)), interval)
        self._objects: dict[Any, Any] = {}
        self._values: dict[Any, Any] = {}
        self._of_unhashable: list[tuple[Any, Any]] = []
        if self.type is not None and _coincide(_distinct(objects), self.type):
            self.type = None  # 1 and 1.0, say, are two values
        for each in distinct:
            self._add(each)
        if self.type is None:
            self.type = Literal[tuple(self._objects)]

    def value_of(self, thing: Any) -> Any:  # noqa: ANN401 - any object
        """Return the value that stands for an object.

        Raises:
            LookupError: It is none of those given.
        """
        if (key := _key(thing)) is not None:
            return self._values[key]
        for known, value in self._of_unhashable:
            if _same(known, thing):
                return value
        raise LookupError(f"{shown(thing)} is none of the values")

    def object_of(self, value: Any) -> Any:  # noqa: ANN401 - any object
        """Return the object that a value stands for: itself, if no other does."""
        return self._objects.get(value, value)

    def _add(self, thing: Any) -> None:  # noqa: ANN401 - any object
        value = self._free(label(thing)) if self.type is None else self.type(_plain(thing))
        if (key := _key(thing)) is not None:
            self._values[key] = value
        else:
            self._of_unhashable.append((thing, value))
        self._objects.setdefault(value, thing)

    def _free(self, text: str) -> str:
        """Return a label that no other object has."""
        count, free = 1, text
        while free in self._objects:
            count += 1
            free = f"{text} ({count})"
        return free


def _distinct(objects: Sequence[Any]) -> list[Any]:
    """Return the objects without those that are the same as one before."""
    by_key: dict[Any, Any] = {}
    unhashable: list[Any] = []
    for each in objects:
        if (key := _key(each)) is not None:
            by_key.setdefault(key, each)
        elif not any(_same(known, each) for known in unhashable):
            unhashable.append(each)
    kept = {id(each) for each in (*by_key.values(), *unhashable)}
    return list({id(each): each for each in objects if id(each) in kept}.values())


def _key(thing: Any) -> Any:  # noqa: ANN401 - any object
    """Return what two objects have in common that a function cannot tell apart; None for none."""
    try:
        key = type(thing), thing, repr(thing)
        hash(key)
        answers = type(operator.eq(thing, thing)).__name__ in ("bool", "bool_")
    except Exception:  # noqa: BLE001 - lists, arrays, and whatever a user's class raises
        return None
    return key if answers else None  # a tensor's hash is of itself alone


def _coincide(objects: Sequence[Any], kind: type) -> bool:
    """Return True where two objects would be the same value of a knob of that type."""
    return len({kind(_plain(each)) for each in objects}) < len(objects)


def label(thing: Any) -> str:  # noqa: ANN401 - any object
    """Return a short text for an object, the same in every process."""
    if isinstance(thing, str):
        text = thing
    elif isinstance(thing, (set, frozenset)):
        text = "{" + ", ".join(sorted(map(repr, thing))) + "}"
    elif isinstance(thing, type) or callable(thing):
        text = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    else:
        text = " ".join(_ADDRESS.sub("", shown(thing)).split())
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
    """Return True for objects without a hash that are the same, as far as they say."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    try:
        text = repr(one)
        if text != repr(other):
            return False
    except Exception:  # noqa: BLE001 - whatever a user's class raises
        return False
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - of arrays, and likewise
        return "..." not in text
