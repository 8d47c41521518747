"""Values of ``--set``: knobs, the sweep's rigor, a replay; and the options that they replaced."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.arguments import some_text, whole_number
from orchestrator.errors import nearest

MOST_NODES: Final = 10_000
"""Most simulated nodes: more than any cluster has, and few enough to go through."""

_REPLAY: Final = "replay."
_SWITCH: Final = {"true": True, "1": True, "false": False, "0": False}

_INSTEAD: Final = {
    "repeats": "--set rigor.repeats=N",
    "confirm": "--set rigor.confirm=N rigor.max_confirm=N",
    "retries": "--set rigor.retries=N",
    "gpu_hours": "--cost gpu_hour=1 --max-cost X",
    "cores": "--set replay.cores=N",
    "nodes": "--set replay.nodes=N",
    "reuse_repeats": "--set replay.reuse_repeats=true",
}
"""What is typed now for an option of the last version, by its name."""


def instead_of(words: Sequence[str]) -> Iterator[str]:
    """Yield a sentence about each option of the last version among the words of a command line."""
    now = {f"--{name.replace('_', '-')}": text for name, text in _INSTEAD.items()}
    for word in words:
        name = word.partition("=")[0]
        if name in now:
            yield f"{name} is now {now[name]}"


def with_old_options(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a run of the last version has stored, as they are named today.

    Those of a replay are left out, since a replay is not resumed.
    """
    values = dict(stored)
    given = {name: values.pop(name, None) for name in _INSTEAD}
    settings = [
        each.replace("N", str(given[name]))
        for name, text in _INSTEAD.items()
        for each in text.split()[1:]
        if given[name] is not None and each.startswith("rigor.")
    ]
    if settings:
        values["set"] = [*_listed(values.get("set")), *settings]
    return values


def merged(before: object, given: Sequence[str]) -> tuple[str, ...]:
    """Return the settings that a run has stored with those given again in their place."""
    names = {each.partition("=")[0] for each in given}
    kept = [each for each in _listed(before) if str(each).partition("=")[0] not in names]
    return (*kept, *given)


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - what a file has, right or wrong
    return list(value) if isinstance(value, (list, tuple)) else [value] * (value is not None)


def is_of_replay(text: str) -> bool:
    """Return True for a value of ``--set`` that is about a replay."""
    return text.startswith(_REPLAY)


def setting(text: str) -> str:
    """Read one value of ``--set``; one of a replay is checked, the others by the sweep."""
    if is_of_replay(text):
        _replay_setting(text)
    return some_text(text)


def replay_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return the values of a replay by name, among all values of ``--set``."""
    return dict(_replay_setting(text) for text in settings if is_of_replay(text))


def _replay_setting(text: str) -> tuple[str, Any]:
    name, _, value = text.removeprefix(_REPLAY).partition("=")
    match name:
        case "cores":
            return name, whole_number(1)(value)
        case "nodes":
            return name, whole_number(1, MOST_NODES)(value)
        case "reuse_repeats" if value.lower() in _SWITCH:
            return name, _SWITCH[value.lower()]
        case "reuse_repeats":
            raise argparse.ArgumentTypeError(f"{text!r} is not allowed: true or false")
    names = ("cores", "nodes", "reuse_repeats")
    raise argparse.ArgumentTypeError(
        f"{text!r} is not allowed{nearest(name, names)}; allowed: replay. and {', '.join(names)}"
    )
