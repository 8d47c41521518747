"""The words of a command, with the values of a config in them."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, Final

from orchestrator.errors import nearest

OF_THE_TRIAL: Final = ("epochs", "steps", "seed", "cores", "trial_id", "folder")
"""Placeholders that the trial fills in, where the config has no value of that name."""


class Command:
    """A command with placeholders, ``python train.py --lr {lr}``.

    A value of the config without a placeholder is a flag behind the other words: ``--name value``,
    or ``--name`` alone for True. What is None or, as a flag, False is left out, a placeholder
    with the flag before it. Relative names of files that exist are made absolute.

    Args:
        text: The command, as a shell would read it; nothing in it is expanded.
        names: Names of the config's values.

    Raises:
        ValueError: It cannot be divided into words, or has an unknown placeholder.
    """

    def __init__(self, text: str, names: Collection[str]) -> None:
        self._words = [_absolute(word) for word in shlex.split(text)]
        if not self._words:
            raise ValueError("it has no words")
        placed = [name for word in self._words for name in _placeholders(word)]
        known = {*names, *OF_THE_TRIAL}
        for name in placed:
            if name not in known:
                allowed = f"allowed: {', '.join([*names, *OF_THE_TRIAL])}; {{{{ for a brace"
                raise ValueError(f"{{{name}}} has no value{nearest(name, known)}; {allowed}")
        self._flags = [name for name in names if name not in placed]

    @property
    def files(self) -> list[Path]:
        """Files that it names."""
        return [Path(word) for word in self._words if word.startswith("/") and Path(word).is_file()]

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """Return the words for the values of a config and of a trial."""
        words: list[str] = []
        for word in self._words:
            names = list(_placeholders(word))
            if not any(values[name] is None for name in names):
                words.append(word.format_map(values))
            elif words and words[-1].startswith("-") and not word.startswith("-"):
                words.pop()
        for name in self._flags:
            value = values[name]
            if value is not None and value is not False:
                words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return words


def _placeholders(word: str) -> Iterator[str]:
    """Yield the first name of each placeholder: of ``{model[lr]}`` it is ``model``."""
    for _, name, _, _ in Formatter().parse(word):
        if name is not None:
            yield name.partition("[")[0].partition(".")[0]


def _absolute(word: str) -> str:
    path = Path(word)
    return str(path.resolve()) if not path.is_absolute() and path.is_file() else word
