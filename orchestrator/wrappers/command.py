"""A command: its words, with the values of a config in them; the figures that it prints."""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
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


# -- figures in the lines that it prints

_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf(?:inity)?|nan"
SAMPLES: Final = "samples"
"""Name of the number of samples trained so far, by which a speed is known."""


class Figures:
    """Reads reports from lines.

    A figure stands in a line as ``name=0.9``, ``name: 90 %``, in an object of JSON, or where a
    regular expression has a group of its name. A report is complete with its last figure, or where
    one comes a second time.

    Args:
        names: Figures of a report. :data:`SAMPLES` is read too.
        pattern: A regular expression with named groups; empty for the other forms.
    """

    def __init__(self, names: Sequence[str], pattern: str = "") -> None:
        self._names = frozenset(names)
        wanted = "|".join(map(re.escape, sorted({*names, SAMPLES}, key=len, reverse=True)))
        form = rf"(?<![\w./-])(?P<name>{wanted})['\"]?\s*[=:]\s*(?P<value>{_NUMBER})\s*(?P<unit>%?)"
        self._form = re.compile(form)
        self._pattern = re.compile(pattern) if pattern else None
        self._open: dict[str, float] = {}

    def read(self, line: str) -> dict[str, float]:
        """Take a line; return the report that it ends, or an empty one."""
        found = self._found(line)
        if not found:
            return {}
        before = self.rest() if self._names & self._open.keys() & found.keys() else {}
        self._open.update(found)
        return before or (self.rest() if self._names <= self._open.keys() else {})

    def rest(self) -> dict[str, float]:
        """Return the report that has begun, or an empty one."""
        report, self._open = self._open, {}
        return report if self._names & report.keys() else {}

    def _found(self, line: str) -> dict[str, float]:
        if self._pattern is not None:
            match = self._pattern.search(line)
            found = match.groupdict() if match else {}
            return {name: float(text) for name, text in found.items() if text is not None}
        if (values := _object(line)) is not None:
            return {
                name: float(value)
                for name, value in _flat(values).items()
                if isinstance(value, (int, float))
            }
        return {
            match["name"]: float(match["value"]) / (100 if match["unit"] else 1)
            for match in self._form.finditer(line)
        }


def _object(line: str) -> dict[str, Any] | None:
    """Return the object of JSON that a line is, or None."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        values: dict[str, Any] = json.loads(line)
    except ValueError:  # a dictionary as Python prints it has the other form too
        return None
    return values


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested values as ``outer/inner``."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = _flat(value, f"{before}{name}/") if isinstance(value, dict) else {}
        flat |= inner or {f"{before}{name}": value}
    return flat
