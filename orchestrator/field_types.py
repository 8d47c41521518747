"""Checks of values against annotations: fields of a dataclass with a value of another type.

::

    wrong_fields(Budget(epochs="two"))   # [WrongField("epochs", "two", "an int of 64 bits")]

A name that is imported for type checkers alone allows anything, and so do protocols and type
variables. ``Annotated`` types have the limits of their ``msgspec.Meta``; its description is shown
as what is allowed.
"""

import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, Final

import msgspec

MOST_OF_AN_INT: Final = 2**63
"""Tables have ints of 64 bits."""
_SHOWN_CHARACTERS: Final = 200
_DECIMAL: Final = 10**_SHOWN_CHARACTERS
"""Larger ints are written in base 16: Python refuses more than 4,300 decimal digits."""


@dataclass(frozen=True)
class WrongField:
    """A field with a value of another type.

    Attributes:
        path: Its name; within it the item, ``reports[0]``.
        value: The value.
        allowed: The type, in words.
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
    """Return the fields of a dataclass's instance that have a value of another type."""
    kind: Any = type(instance)
    hints = _hints_of(kind)
    found = ((name, _wrong(getattr(instance, name), hint)) for name, hint in hints.items())
    return [_below(name, wrong) for name, wrong in found if wrong is not None]


def shown(value: object) -> str:
    """Return a value as Python writes it, bounded."""
    text = hex(value) if isinstance(value, int) and abs(value) > _DECIMAL else repr(value)
    text = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} ..."
    return text.encode(errors="backslashreplace").decode()


def with_article(name: str) -> str:
    """Return a name of a type with its article."""
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def plain(value: Any) -> Any:  # noqa: ANN401 - any object
    """Return a scalar of NumPy as Python's own; anything else as it is."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return value.item() if is_scalar else value


def is_int(value: object) -> bool:
    """Return True for a whole number that tables can have; a switch is none."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return False
    return -MOST_OF_AN_INT <= int(value) < MOST_OF_AN_INT


def _is_real(value: object) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and (isinstance(value, float) or math.isfinite(float(value)))  # type: ignore[arg-type]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and (value.isascii() or bool(value.encode()))


@cache
def _hints_of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    absent: dict[str, Any] = {}  # names that are imported for type checkers alone
    while True:
        try:
            hints = typing.get_type_hints(kind, localns=absent, include_extras=True)
        except NameError as error:
            absent[str(error.name)] = Any
        else:
            return {entry.name: hints[entry.name] for entry in fields(kind)}


def _below(place: str, wrong: WrongField) -> WrongField:
    dot = "." if wrong.path and not wrong.path.startswith("[") else ""
    return WrongField(f"{place}{dot}{wrong.path}", wrong.value, wrong.allowed)


_SIMPLE: Final[Mapping[Any, tuple[Callable[[Any], bool], str]]] = {
    bool: (lambda value: isinstance(value, bool), "True or False"),
    int: (is_int, "an int of 64 bits"),
    float: (_is_real, "a number"),
    str: (_is_text, "a str that UTF-8 can hold"),
    types.NoneType: (lambda value: value is None, "None"),
    type: (lambda value: isinstance(value, type), "a class"),
    Callable: (callable, "a function"),
}


def _wrong(value: Any, hint: Any) -> WrongField | None:  # noqa: ANN401 - any value, annotation
    """Return what in a value does not fit an annotation, or None."""
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Annotated:
        try:
            msgspec.convert(float(value) if isinstance(value, float) else value, hint)
        except msgspec.ValidationError:
            return WrongField("", value, arguments[-1].description)
        return None
    if origin in (typing.Union, types.UnionType):
        return _wrong_in_all(value, arguments)
    if origin in _SIMPLE or origin is typing.Literal:
        words = " or ".join(map(repr, arguments))
        fits, allowed = _SIMPLE.get(origin) or (lambda value: value in arguments, words)
        return None if _fits(fits, value) else WrongField("", value, allowed)
    is_open = origin in (object, Any) or not isinstance(origin, type)
    if is_open or getattr(origin, "_is_protocol", False):
        return None
    if arguments and issubclass(origin, Collection):
        return _wrong_within(value, origin, arguments)
    if not isinstance(value, origin):
        is_enum = issubclass(origin, Enum)
        options = [f"{origin.__name__}.{each.name}" for each in origin] if is_enum else []
        return WrongField("", value, ", ".join(options) or with_article(origin.__name__))
    return next(iter(wrong_fields(value)), None) if is_dataclass(origin) else None


def _fits(fits: Callable[[Any], bool], value: object) -> bool:
    try:
        return fits(value)
    except Exception:  # noqa: BLE001 - a value that cannot be compared is none of them
        return False


def _wrong_in_all(value: object, hints: Sequence[Any]) -> WrongField | None:
    """Return what is wrong in a value that fits none of the annotations."""
    found = [_wrong(value, hint) for hint in hints]
    wrong = [each for each in found if each is not None]
    if len(wrong) < len(found):
        return None
    within = [each for each in wrong if each.path]  # of its type, but for an item
    words = " or ".join(dict.fromkeys(each.allowed for each in wrong))
    return within[0] if within else WrongField("", value, words)


def _wrong_within(value: Any, origin: type, arguments: Sequence[Any]) -> WrongField | None:  # noqa: ANN401
    """Return the first item of a collection that does not fit the annotation of the items."""
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return WrongField("", value, "a mapping")
        items: Iterable[tuple[object, Any, Any]] = (
            (shown(name), item, arguments[1]) for name, item in value.items()
        )
    elif isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return WrongField("", value, "a list")
    elif origin is tuple and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return WrongField("", value, f"{len(arguments)} values")
        items = zip(range(len(value)), value, arguments, strict=True)
    else:
        items = ((number, item, arguments[0]) for number, item in enumerate(value))
    for place, item, hint in items:
        if (wrong := _wrong(item, hint)) is not None:
            return _below(f"[{place}]", wrong)
    return None
