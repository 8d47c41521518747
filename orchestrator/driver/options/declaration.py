"""The declaration of one option, readers of values, and options that contradict each other."""

import argparse
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from orchestrator.arguments import MOST, Names, a_path, some_text, whole_number
from orchestrator.errors import SweepError, nearest
from orchestrator.sweep.rigor import OLD_OPTIONS

_MOST_S: Final = 1e9
_UNITS_S: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_REPLAY: Final = "replay."
_MOST_NODES: Final = 10_000
"""Most simulated nodes: more than any cluster has, and few enough to iterate over."""

EXECUTORS: Final = {
    "ray": "Ray Tune",
    "inline": "one trial after the other without it",
    "replay": "recorded runs on a simulated clock, of --set replay.table=DIR or --table DIR",
}
"""The executors by name, and their meaning."""
DEFAULT_EXECUTOR: Final = "ray"


class Group(StrEnum):
    """A heading of the help, and of the page that documents the options."""

    TRAINED = "what is trained"
    SEARCHED = "how it is searched"
    PLACE = "where it runs"
    RESULTS = "what is left behind"


@dataclass(frozen=True)
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


def option(group: Group, text: str, metavar: str = "", **more: Any) -> Any:  # noqa: ANN401 - as field()
    """Return the field of an option, with what else :class:`Option` has of it.

    Its default is None, False for a switch and () for a list.
    """
    declared = Option(group, text, metavar, **more)
    default: Any = () if declared.is_list else None if metavar else False
    return field(default=default, metadata={"option": declared})


def folder(group: Group, text: str, metavar: str = "DIR", **more: Any) -> Any:  # noqa: ANN401
    """Return the field of an option that names a folder, by default for this process."""
    return option(group, text, metavar, **{"read": a_path, "stored": False, **more})


def count(text: str, group: Group = Group.SEARCHED, *, least: int = 1, replaces: str = "") -> Any:  # noqa: ANN401
    """Return the field of an option that is a number."""
    return option(group, text, "N", read=whole_number(least, MOST), replaces=replaces)


def flag(name: str) -> str:
    """Return a field of the options as it is typed."""
    return f"--{name.replace('_', '-')}"


# -- readers


def duration_s(text: str) -> float:
    """Read a duration such as ``90s``, ``30m`` or ``2h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None or not 0 < float(match[1]) < _MOST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90s, 30m or 2h")
    return float(match[1]) * _UNITS_S[match[2] or "s"]


def hours(text: str) -> float:
    """Read a number of hours above zero."""
    with suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours such as 0.5 or 20")


# -- values of --set


def of_sweep(settings: Sequence[str]) -> list[str]:
    """Return the values of ``--set`` that change the sweep, and are not about a replay."""
    return [text for text in settings if not text.startswith(_REPLAY)]


def setting(text: str) -> str:
    """Read one value of ``--set``; a replay's value is checked here, others by the sweep."""
    replay_settings([text])
    return some_text(text)


def replay_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return the values of a replay by name, among all values of ``--set``."""
    values: dict[str, Any] = {}
    for text in (each for each in settings if each.startswith(_REPLAY)):
        name, _, value = text.removeprefix(_REPLAY).partition("=")
        if name not in _READERS:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not allowed{nearest(name, _READERS)}; allowed: replay. and "
                f"{', '.join(_READERS)}"
            )
        values[name] = _READERS[name](value)
    return values


def _switch(text: str) -> bool:
    return Names(("true", "1", "false", "0"))(text.lower()) in {"true", "1"}


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "cores": whole_number(1),
    "nodes": whole_number(1, _MOST_NODES),
    "reuse_repeats": _switch,
    "table": a_path,
}


# -- options of the last version

_INSTEAD: Final = {
    **OLD_OPTIONS,
    "--cores": "replay.cores=N",
    "--nodes": "replay.nodes=N",
    "--reuse-repeats": "replay.reuse_repeats=true",
    "--table": "replay.table=N",
    "--cost": "prices.N",
}
"""The same for all options of the last version; several prices are divided by commas."""


def as_today(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line with options of the last version as they are named today.

    Returns:
        The words; and a sentence for each old option among them.
    """
    kept, added, sentences = list[str](), list[str](), list[str]()
    left = iter(words)
    for word in left:
        name, has_value, value = word.partition("=")
        if name not in _INSTEAD:
            kept.append(word)
            continue
        today = _INSTEAD[name]
        if not has_value and "N" in today:
            value = next(left, "")
        new = [t.replace("N", each) for each in value.split(",") for t in today.split()]
        sentences.append(f"{name} is now --set {' '.join(new)}")
        added += new
    return [*kept, *(["--set", *added] if added else [])], sentences


# -- contradictions

_HINT: Final = "leave one of them out"


def contradictions(given: Mapping[str, Any]) -> Iterator[SweepError]:
    """Yield an error for each two of the options given that contradict each other."""
    executor, values = given.get("executor") or DEFAULT_EXECUTOR, given.get("set", ())
    settings = [f"--set {text}" for text in values if text.startswith(_REPLAY)]
    for one, two in (
        ("out", "resume"),
        ("warm_start", "resume"),
        ("tracking_uri", "no_mlflow"),
        ("experiment", "no_mlflow"),
    ):
        if given.get(one) and given.get(two):
            yield SweepError(f"{flag(one)} and {flag(two)} contradict each other", _HINT)
    if given.get("address") and executor != "ray":
        yield SweepError(f"--address and --executor {executor} contradict each other", _HINT)
    if executor == "replay":
        if given.get("resume"):
            yield SweepError("--executor replay and --resume contradict each other", _HINT)
        if "table" not in replay_settings(values):
            hint = "give the directory of a run: --set replay.table=RUN_DIR"
            yield SweepError("--executor replay: no table to replay", hint)
        for name in ("download", "data_root", "data", "cores_per_trial"):
            if given.get(name):
                yield SweepError(f"{flag(name)}: a replay has that of its table", "leave it out")
        return
    for words in settings:
        yield SweepError(f"{words} is for replays", "give --executor replay with it")
