"""Figures in the lines that a command prints."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

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
