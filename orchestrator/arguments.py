"""Types of arguments, for every command line of the project."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from orchestrator.errors import nearest


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a type of argument: a whole number within limits, which its message names."""
    allowed = f"at least {least}" + ("" if most is None else f" and at most {most}")

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not allowed: a whole number of {allowed}"
            )
        return number

    return read


def a_path(text: str) -> Path:
    """Return a path. ``~`` is the home folder, in ``--out=~/x`` too, which no shell expands."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"{text!r}: there is no such user") from None


def one_of(*names: str) -> Callable[[str], str]:
    """Return a type of argument: one of a few names, of which its message gives the nearest."""

    def read(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not allowed{nearest(text, names)}; allowed: {', '.join(names)}"
            )
        return text

    return read
