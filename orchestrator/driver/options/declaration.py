"""The declaration of one option of the command line, readers of values, and the executors."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from orchestrator.arguments import MOST, a_path, one_of, some_text, whole_number
from orchestrator.errors import nearest
from orchestrator.sweep.checks import PRICES
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
        metavar: Word for its value; empty for a switch.
        is_list: True if it takes several values.
        read: Reads its value from text; the message of its error is shown.
        stored: True if a resumed run takes it over.
        replaces: Field of the sweep that it replaces, or empty.
    """

    group: Group
    help: str
    metavar: str = ""
    is_list: bool = False
    read: Callable[[str], Any] = some_text
    stored: bool = True
    replaces: str = ""


def option(group: Group, text: str, **more: Any) -> Option:  # noqa: ANN401 - of Option
    """Return the declaration of an option."""
    return Option(group=group, help=text, **more)


def folder(
    group: Group, text: str, metavar: str = "DIR", *, stored: bool = False, is_list: bool = False
) -> Option:
    """Return the declaration of an option that names a folder, for this process alone."""
    return option(group, text, metavar=metavar, read=a_path, stored=stored, is_list=is_list)


def count(
    text: str, group: Group = Group.SEARCHED, *, least: int = 1, replaces: str = ""
) -> Option:
    """Return the declaration of a number."""
    return option(group, text, metavar="N", read=whole_number(least, MOST), replaces=replaces)


def flag(name: str) -> str:
    """Return a field of the options as it is typed."""
    return f"--{name.replace('_', '-')}"


def duration_s(text: str) -> float:
    """Read a duration such as ``90s``, ``30m`` or ``2h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None or not 0 < float(match[1]) < _MOST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90s, 30m or 2h")
    return float(match[1]) * _UNITS_S[match[2] or "s"]


def hours(text: str) -> float:
    """Read a number of hours above zero."""
    if not 0 < (number := _number(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours such as 0.5 or 20")
    return number


def prices(text: str) -> str:
    """Read prices such as ``cpu_hour=0.04,gpu_hour=2.50``, as text; see :func:`prices_of`."""
    prices_of(text)
    return text


def prices_of(text: str) -> dict[str, float]:
    """Return prices by their names, as a sweep file has them."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, price = part.partition("=")
        number = _number(price)
        if name not in PRICES or name in found or not 0 <= number < math.inf:
            meant = "" if name in PRICES else nearest(name, PRICES)
            raise argparse.ArgumentTypeError(
                f"{part!r} is not a price{meant}; allowed: cpu_hour=0.04,gpu_hour=2.50, each once"
            )
        found[name] = number
    return dict.fromkeys(PRICES, 0.0) | found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def isolation(text: str) -> Isolation:
    """Read the name of an isolation."""
    return Isolation(one_of(*map(str, Isolation))(text))


# -- executors


@dataclass(frozen=True, kw_only=True)
class ExecutorKind:
    """An executor that the command line can name.

    Attributes:
        doc: Meaning, a few words of plain text.
        on_clusters: True if it runs trials on an existing cluster too.
        one_at_a_time: True if it never runs two trials at the same time.
        simulated: True if it plays recorded runs, and nothing is measured.
    """

    doc: str
    on_clusters: bool = False
    one_at_a_time: bool = False
    simulated: bool = False


DEFAULT_EXECUTOR: Final = "ray"

EXECUTORS: Final[Mapping[str, ExecutorKind]] = {
    "ray": ExecutorKind(doc="Ray Tune", on_clusters=True),
    "inline": ExecutorKind(doc="one trial after the other without it", one_at_a_time=True),
    "replay": ExecutorKind(doc="recorded runs on a simulated clock", simulated=True),
}
"""The executors by name. A new one is its file in ``execution``, its entry here and its maker."""
