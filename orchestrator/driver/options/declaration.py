"""The declaration of one option of the command line, and the readers of option values."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from orchestrator.arguments import MOST, one_of, some_text, whole_number
from orchestrator.trial import Isolation

_MOST_S: Final = 1e9
_UNITS_S: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Group(StrEnum):
    """A heading of the help, and of the page that documents the options."""

    TRAINED = "what is trained"
    SEARCHED = "how it is searched"
    PLACE = "where it runs"
    RESULTS = "what is left behind"


@dataclass(frozen=True, kw_only=True)
class Option:
    """The declaration of an option.

    Attributes:
        group: Its heading.
        help: Meaning, one line of plain text.
        more: Markdown that the page has after it.
        metavar: Word for its value; empty for a switch.
        is_list: True where it takes several values.
        read: Reads its value from text; what it raises is shown.
        stored: True where a resumed run takes it over.
        replaces: Field of the sweep that it replaces, or empty.
    """

    group: Group
    help: str
    more: str = ""
    metavar: str = ""
    is_list: bool = False
    read: Callable[[str], Any] = some_text
    stored: bool = False
    replaces: str = ""


def flag(name: str) -> str:
    """Return a field of :class:`Options` as it is typed."""
    return f"--{name.replace('_', '-')}"


def duration_s(text: str) -> float:
    """Read a duration such as ``90s``, ``30m`` or ``2h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None or not 0 < float(match[1]) < _MOST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90s, 30m or 2h")
    return float(match[1]) * _UNITS_S[match[2] or "s"]


def positive_number(what: str) -> Callable[[str], float]:
    """Return a reader of a number above zero; ``what`` it counts is named in its message."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} such as 0.5 or 20")
        return number

    return read


def isolation(text: str) -> Isolation:
    """Read the name of an isolation."""
    return Isolation(one_of(*map(str, Isolation))(text))


def option(group: Group, text: str, **more: Any) -> Mapping[str, Option]:  # noqa: ANN401 - of Option
    """Return the metadata of a field of :class:`Options`."""
    return {"option": Option(group=group, help=text, **more)}


def count(
    text: str,
    group: Group = Group.SEARCHED,
    *,
    least: int = 1,
    most: int = MOST,
    **more: Any,  # noqa: ANN401 - of Option
) -> Mapping[str, Option]:
    """Return the metadata of a field that counts something, and that a resumed run takes over."""
    return option(group, text, metavar="N", read=whole_number(least, most), stored=True, **more)


def limit(text: str, what: str, **more: Any) -> Mapping[str, Option]:  # noqa: ANN401 - of Option
    """Return the metadata of a field that is a budget; ``what`` it counts is in its message."""
    read = positive_number(what)
    return option(Group.SEARCHED, text, metavar="X", read=read, stored=True, **more)
