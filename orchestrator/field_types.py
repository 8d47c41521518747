"""Values held against annotations: fields of a dataclass that are of another type than declared.

::

    wrong_fields(Budget(epochs="two"))   # [WrongField("epochs", "two", "an int of 64 bits")]

Annotations are compiled once a class. A name that is imported for type checkers alone stands for
anything, and so do protocols and type variables. ``Annotated`` types have the limits of their
``msgspec.Meta``, and its description is what is allowed.
"""

from __future__ import annotations

import builtins
import math
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, Final

import msgspec

MOST_OF_AN_INT: Final = 2**63
"""Tables hold ints of 64 bits."""
_SHOWN_CHARACTERS: Final = 200


@dataclass(frozen=True)
class WrongField:
    """A field with a value that it cannot hold.

    Attributes:
        path: Its name; within it the item, ``reports[0]``.
        value: What it holds.
        allowed: What it may hold, in words.
    """

    path: str
    value: object
    allowed: str

    @property
    def field(self) -> str:
        """Return the field's own name."""
        return self.path.partition("[")[0].partition(".")[0]

    def __str__(self) -> str:
        return f"{self.path} = {shown(self.value)}"


def wrong_fields(instance: Any) -> list[WrongField]:  # noqa: ANN401 - any dataclass
    """Return the fields of a dataclass's instance that hold a value of another type."""
    found = []
    kind: Any = type(instance)
    for name, check in _checks_of(kind).items():
        if (wrong := check(getattr(instance, name))) is not None:
            found.append(_below(name, wrong))
    return found


def require_types(instance: Any) -> None:  # noqa: ANN401 - any dataclass
    """Check the types of all fields.

    Raises:
        TypeError: Names the first field that holds a value of another type.
    """
    for wrong in wrong_fields(instance):
        raise TypeError(f"{wrong}, which is not {wrong.allowed}")


def shown(value: object) -> str:
    """Return a value as Python writes it, bounded; its type where that cannot be written."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - whatever a user's class raises, or an int of many digits
        return f"{with_article(type(value).__name__)} that cannot be written"
    cut = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} ..."
    return cut.encode(errors="backslashreplace").decode()


def with_article(name: str) -> str:
    """Return a name of a type with its article."""
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


Check = Callable[[object], WrongField | None]
"""A check of a value: where in it something is wrong, or None."""


def _below(place: str, wrong: WrongField) -> WrongField:
    dot = "." if wrong.path and not wrong.path.startswith("[") else ""
    return WrongField(f"{place}{dot}{wrong.path}", wrong.value, wrong.allowed)


@cache
def _checks_of(kind: Any) -> dict[str, Check]:  # noqa: ANN401 - a dataclass
    names = _Names(vars(sys.modules[kind.__module__]))
    hints = typing.get_type_hints(kind, localns=names, include_extras=True)
    return {entry.name: checked_against(hints[entry.name]) for entry in fields(kind)}


class _Names(dict[str, Any]):
    """Names of annotations: a module's own, and ``Any`` for those that it imports for types."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        super().__init__()
        self._module = module

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - any type
        if name in self._module or hasattr(builtins, name):
            raise KeyError(name)  # found there
        return Any


def checked_against(hint: Any) -> Check:  # noqa: ANN401 - any annotation
    """Return a function that finds what in a value does not fit an annotation; None: it does."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _within_limits(hint, arguments[-1])
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments)
    if origin is typing.Literal:
        return _kind(lambda value: value in arguments, " or ".join(map(repr, arguments)))
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return _items_of(lambda number: arguments[number], len(arguments))
    if origin is not None and isinstance(origin, type):
        if issubclass(origin, Mapping):
            return _mapping(*map(checked_against, arguments))
        if origin is type:
            return _kind(lambda value: isinstance(value, type), "a class")
        if issubclass(origin, Callable):  # type: ignore[arg-type] # the abstract class
            return _kind(callable, "a function")
        if issubclass(origin, Collection):
            each = checked_against(arguments[0]) if arguments else _anything
            return _sequence(each)
        return _of_class(origin)
    return _of_class(hint) if isinstance(hint, type) else _anything


def _within_limits(hint: Any, meta: Any) -> Check:  # noqa: ANN401 - any annotation
    def check(value: object) -> WrongField | None:
        try:
            msgspec.convert(value, hint)
        except msgspec.ValidationError:
            return WrongField("", value, meta.description)
        return None

    return check


def _anything(_value: object) -> None:
    return None


def _kind(holds: Callable[[Any], bool], allowed: str) -> Check:
    def check(value: object) -> WrongField | None:
        try:
            return None if holds(value) else WrongField("", value, allowed)
        except Exception:  # noqa: BLE001 - a value that cannot be compared is none of them
            return WrongField("", value, allowed)

    return check


def _of_class(kind: type) -> Check:
    if kind in (object, Any) or getattr(kind, "_is_protocol", False):
        return _anything
    simple: dict[type, tuple[Callable[[Any], bool], str]] = {
        bool: (lambda value: isinstance(value, bool), "True or False"),
        int: (is_int, "an int of 64 bits"),
        float: (is_real, "a number"),
        str: (_is_text, "a str that UTF-8 can hold"),
        types.NoneType: (lambda value: value is None, "None"),
    }
    if kind in simple:
        return _kind(*simple[kind])
    if issubclass(kind, Enum):
        options = ", ".join(f"{kind.__name__}.{option.name}" for option in kind)
        return _kind(lambda value: isinstance(value, kind), options)
    name = with_article(kind.__name__)
    is_one = _kind(lambda value: isinstance(value, kind), name)
    if not is_dataclass(kind):
        return is_one

    def check(value: object) -> WrongField | None:
        return is_one(value) or next(iter(wrong_fields(value)), None)

    return check


def _is_text(value: object) -> bool:
    return isinstance(value, str) and (value.isascii() or bool(value.encode()))


def is_int(value: object) -> bool:
    """Return True for a whole number that tables hold; a switch is none."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return False
    return -MOST_OF_AN_INT <= int(value) < MOST_OF_AN_INT


def is_real(value: object) -> bool:
    """Return True for a number, infinite ones and NaN too; a switch is none."""
    return isinstance(value, float) or (
        isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    )


def _one_of(hints: Sequence[Any]) -> Check:
    checks = [checked_against(hint) for hint in hints]

    def check(value: object) -> WrongField | None:
        found = [check(value) for check in checks]
        wrong = [each for each in found if each is not None]
        if len(wrong) < len(found):
            return None
        within = [each for each in wrong if each.path]
        if within:  # of its type, but for an item
            return within[0]
        return WrongField("", value, " or ".join(dict.fromkeys(each.allowed for each in wrong)))

    return check


def _sequence(each: Check) -> Check:
    def check(value: object) -> WrongField | None:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            return WrongField("", value, "a list")
        return next(_of_items(value, each), None)

    return check


def _of_items(items: Sequence[object], each: Check) -> Iterator[WrongField]:
    for number, item in enumerate(items):
        if (wrong := each(item)) is not None:
            yield _below(f"[{number}]", wrong)


def _items_of(hint_of: Callable[[int], Any], count: int) -> Check:
    checks = [checked_against(hint_of(number)) for number in range(count)]

    def check(value: Any) -> WrongField | None:  # noqa: ANN401 - as of Check
        if not isinstance(value, (tuple, list)) or len(value) != count:
            return WrongField("", value, f"{count} values")
        pairs = enumerate(zip(value, checks, strict=True))
        found = ((number, each(item)) for number, (item, each) in pairs)
        return next((_below(f"[{number}]", wrong) for number, wrong in found if wrong), None)

    return check


def _mapping(key: Check = _anything, each: Check = _anything) -> Check:
    def check(value: object) -> WrongField | None:
        if not isinstance(value, Mapping):
            return WrongField("", value, "a mapping")
        for name, item in value.items():
            if (wrong := key(name)) is not None:
                return WrongField("", name, f"{wrong.allowed} as a key")
            if (wrong := each(item)) is not None:
                return _below(f"[{shown(name)}]", wrong)
        return None

    return check
