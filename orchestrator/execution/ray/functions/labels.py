"""Any values as values of a knob: numbers and text as they are, other objects by a label.

A function of Ray Tune may get lists, None or functions. Tables, journals and command lines contain
numbers and text. So a label stands for each object, and the function gets the object itself.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from orchestrator.field_types import is_int, plain, shown
from orchestrator.space.domains import Interval
from orchestrator.space.knob import MOST_OF_A_TEXT
from orchestrator.texts import bounded, bounded_name

_MOST_OF_A_LABEL: Final = 100
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


def as_values(objects: Sequence[Any], interval: Interval | None = None) -> tuple[Any, list[Any]]:
    """Return the type of a knob with these objects, and the value of each; of equal ones the same.

    Args:
        objects: All objects that the knob can have, apart from those drawn from ``interval``.
        interval: Numbers that it is drawn from, or None.

    Raises:
        ValueError: An object is none of the numbers that are drawn.
    """
    values = [plain(each) for each in objects]
    kind = _type_of(values, interval)
    if kind is not None:
        return kind, [kind(each) for each in values]
    labelled: dict[str, Any] = {}
    values = [_labelled(each, labelled) for each in objects]
    return Literal[tuple(labelled)], values


def _labelled(thing: Any, labelled: dict[str, Any]) -> str:  # noqa: ANN401 - any object
    """Return the label of an object, a new one if it has none yet."""
    text = free = label(thing)
    count = 1
    while free in labelled and not _is_same(labelled[free], thing):
        count += 1
        free = f"{text} ({count})"
    labelled.setdefault(free, thing)
    return free


def label(thing: Any) -> str:  # noqa: ANN401 - any object
    """Return a short text for an object, the same in every process."""
    if isinstance(thing, str):
        text = thing
    elif isinstance(thing, (set, frozenset)):
        text = "{" + ", ".join(sorted(map(repr, thing))) + "}"
    elif callable(thing):
        text = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    else:
        text = " ".join(_ADDRESS.sub("", shown(thing)).split())
    return bounded_name(bounded(text, _MOST_OF_A_LABEL))


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any objects
    """Return True for equal objects of one type; for arrays only if they are one object."""
    has_truth = type(one) is type(other) and not hasattr(one, "shape")
    return one is other or (has_truth and bool(one == other))


def _type_of(values: Sequence[Any], interval: Interval | None) -> type | None:
    """Return the type of a knob that takes all of these; None where labels stand for them.

    Raises:
        ValueError: One of them is no number of the interval's kind.
    """
    if interval is not None:
        for each in values:
            if not _is_usual(each) or (interval.integer and each != int(each)):
                what = "a whole number" if interval.integer else "a number"
                raise ValueError(f"{each!r} is not {what}, and {interval} draws such")
        return int if interval.integer else float
    kinds = {type(each) for each in values}
    if kinds <= {int, float} and all(map(_is_usual, values)):
        return int if kinds == {int} else float
    is_short = all(text == bounded(text, MOST_OF_A_TEXT) for text in values if type(text) is str)
    return next((kind for kind in (bool, str) if kinds == {kind} and is_short), None)


def _is_usual(value: Any) -> bool:  # noqa: ANN401 - any object
    return is_int(value) or (isinstance(value, float) and math.isfinite(value))
