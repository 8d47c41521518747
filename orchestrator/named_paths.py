"""Paths as users name them: a home folder or a variable at their beginning is replaced.

A shell does that, but not after ``--out=`` or in quotes, and nobody does in the settings of an
editor, a list of a Dockerfile or a file of variables.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from orchestrator.errors import SweepError

_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)\})(?=/|$)")


def named_path(text: str, given_by: str = "") -> Path:
    """Return a path. ``~`` and a variable are replaced at its beginning alone: ``./$x`` is a name.

    Args:
        text: The path as it was typed.
        given_by: Option or variable that it comes from, for messages.

    Raises:
        SweepError: There is no such user, or no such variable.
    """
    where = f"{given_by} {text!r}".strip()
    if match := _VARIABLE.match(text):
        name = match[1] or match[2]
        if not (value := os.environ.get(name)):
            raise SweepError(f"{where}: the variable {name} is not set", f"'./{text}' is a name")
        text = value + text[match.end() :]
    # Not Path.expanduser(), for which ./~ is ~.
    path = os.path.expanduser(text)  # noqa: PTH111
    if path.startswith("~"):
        raise SweepError(f"{where}: there is no such user", f"'./{text}' is a name")
    return Path(path)
