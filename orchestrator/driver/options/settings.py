"""Values of ``--set``; options of the last version; options that contradict each other."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.arguments import one_of, some_text, whole_number
from orchestrator.driver.options.declaration import DEFAULT_EXECUTOR, EXECUTORS, flag
from orchestrator.errors import SweepError, nearest

MOST_NODES: Final = 10_000
"""Most simulated nodes: more than any cluster has, and few enough to iterate over."""

_REPLAY: Final = "replay."

_INSTEAD: Final = {
    "repeats": "--set rigor.repeats=N",
    "confirm": "--set rigor.confirm=N rigor.max_confirm=N",
    "retries": "--set rigor.retries=N",
    "cores": "--set replay.cores=N",
    "nodes": "--set replay.nodes=N",
    "reuse_repeats": "--set replay.reuse_repeats=true",
}
"""Today's form of an option of the last version, by its name."""


def as_today(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line with options of the last version as they are named today.

    Returns:
        The words; and a sentence for each old option among them.
    """
    old = {flag(name): text for name, text in _INSTEAD.items()}
    kept, added, sentences = list[str](), list[str](), list[str]()
    left = iter(words)
    for word in left:
        name, has_value, value = word.partition("=")
        if name not in old:
            kept.append(word)
            continue
        sentences.append(f"{name} is now {old[name]}")
        settings = old[name].split()[1:]
        if not has_value and "N" in old[name]:
            value = next(left, "")
        added += [each.replace("=N", f"={value}") for each in settings]
    return [*kept, *(["--set", *added] if added else [])], sentences


def merged(before: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """Return a run's stored settings, replaced by those that are given again."""
    names = {each.partition("=")[0] for each in given}
    return (*(each for each in before if each.partition("=")[0] not in names), *given)


def is_of_replay(text: str) -> bool:
    """Return True for a value of ``--set`` that is about a replay."""
    return text.startswith(_REPLAY)


def setting(text: str) -> str:
    """Read one value of ``--set``; a replay's value is checked here, others by the sweep."""
    if is_of_replay(text):
        _replay_setting(text)
    return some_text(text)


def replay_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return the values of a replay by name, among all values of ``--set``."""
    return dict(_replay_setting(text) for text in settings if is_of_replay(text))


def _replay_setting(text: str) -> tuple[str, Any]:
    name, _, value = text.removeprefix(_REPLAY).partition("=")
    if name not in _READERS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed{nearest(name, _READERS)}; allowed: replay. and "
            f"{', '.join(_READERS)}"
        )
    return name, _READERS[name](value)


def _switch(text: str) -> bool:
    return one_of("true", "1", "false", "0")(text.lower()) in {"true", "1"}


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "cores": whole_number(1),
    "nodes": whole_number(1, MOST_NODES),
    "reuse_repeats": _switch,
}


# -- contradictions

_HINT: Final = "leave one of them out"


def contradictions(given: Mapping[str, Any]) -> Iterator[SweepError]:
    """Yield an error for each two of the options given that contradict each other."""
    executor = given.get("executor") or DEFAULT_EXECUTOR
    kind, table = EXECUTORS[executor], given.get("table")
    for one, two in (
        ("out", "resume"),
        ("warm_start", "resume"),
        ("table", "resume"),
        ("tracking_uri", "no_mlflow"),
        ("experiment", "no_mlflow"),
    ):
        if given.get(one) and given.get(two):
            yield SweepError(f"{flag(one)} and {flag(two)} contradict each other", _HINT)
    if given.get("address") and not kind.on_clusters:
        yield SweepError(f"--address and --executor {executor} contradict each other", _HINT)
    if kind.simulated and not table:
        hint = "give the directory of a run: --table RUN_DIR"
        yield SweepError("--executor replay: no table to replay", hint)
    settings = [f"--set {text}" for text in given.get("set", ()) if is_of_replay(text)]
    for words in () if kind.simulated else (["--table"] * bool(table) + settings):
        yield SweepError(f"{words} is for replays", "give --executor replay with it")
    for name in ("download", "data_root", "data", "cores_per_trial"):
        if given.get(name) and kind.simulated:
            yield SweepError(f"{flag(name)}: a replay has that of its table", "leave it out")
