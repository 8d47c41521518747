"""Places: lines of the user's files in messages, paths as users name them, and the cache."""

import linecache
import os
import re
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from orchestrator.errors import SweepError

_OWN = __name__.partition(".")[0]


def caller(keyword: str = "") -> str:
    """Return ``file:line: `` of the first code outside this package that led here.

    Args:
        keyword: Name of an argument of the call made there, or of a key of a dictionary in
            it. The line is then the one on which it stands.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OWN:
        frame = frame.f_back
    if frame is None:  # the package's own main program
        return ""
    line = argument_line(frame.f_code, frame.f_lasti, keyword) if keyword else None
    return f"{place(frame.f_code.co_filename, line or frame.f_lineno)}: "


def place(file: str | Path, line: int | None = None) -> str:
    """Return ``file:line``, the file relative to the current folder where it lies under it."""
    path = short(Path(file)) if Path(file).is_absolute() else Path(file)
    return f"{path}:{line}" if line else str(path)


def place_of(function: object) -> str:
    """Return the place where a function is defined; its name if it has no Python code."""
    code = getattr(function, "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code else repr(function)


def argument_line(code: CodeType, instruction: int, keyword: str) -> int | None:
    """Return the line on which an argument of the call being made begins, or None if unknown.

    Args:
        code: The code that makes the call.
        instruction: Index of its current instruction, in bytes.
        keyword: The argument's name, or a key of a dictionary among the arguments.
    """
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    first, last = position[:2] if position else (None, None)
    if first is None or last is None:
        return None
    return line_of(code.co_filename, keyword, range(first, last + 1))


def line_of(file: str, keyword: str, lines: Iterable[int]) -> int | None:
    """Return the first of some lines of a file that names an argument or a key, or None."""
    named = re.compile(rf"\b{re.escape(keyword)}[\"']?\s*[=:]")
    return next((line for line in lines if named.search(linecache.getline(file, line))), None)


# -- paths


def short(path: Path) -> Path:
    """Return ``path``, relative to the current folder where it lies under it."""
    path = path.absolute()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def named_path(text: str, given_by: str = "") -> Path:
    """Return a path with ``~`` or a variable at its beginning replaced; ``./$x`` is a name.

    A shell does that, but not after ``--out=``, in quotes, or in a file of variables.

    Args:
        text: The path as it was typed.
        given_by: Option or variable that it comes from, for messages.

    Raises:
        SweepError: There is no such user, or no such variable.
    """
    # Not Path.expanduser(), for which ./~ is ~.
    path = os.path.expanduser(os.path.expandvars(text) if text[:1] == "$" else text)  # noqa: PTH111
    if path[:1] in ("$", "~"):
        where = f"{given_by} {text!r}".strip()
        raise SweepError(f"{where}: there is no such user or variable", f"'./{text}' is a name")
    return Path(path)


def cache_folder() -> Path:
    """Return the folder of converted data sets: ``$SWEEP_CACHE``, else in the user's cache.

    Raises:
        SweepError: The user has no home, or ``$SWEEP_CACHE`` begins with what does not exist.
    """
    if named := os.environ.get("SWEEP_CACHE"):
        return named_path(named, "SWEEP_CACHE").absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or named_path("~/.cache", "SWEEP_CACHE is not set:")
    return Path(cache, "sweep-orchestrator").absolute()
