"""An error of a user's file: Python's own words, cut at the file's line, and the nearest name."""

from __future__ import annotations

import builtins
import inspect
import linecache
import re
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, nearest
from orchestrator.locations import argument_line, place
from orchestrator.texts import MOST_OF_A_LINE, bounded, described

_UNKNOWN_ARGUMENT = re.compile(
    r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'"
)


def explained(error: BaseException, file: Path) -> SweepFileError:
    """Return the error as one about ``file``: its own line, and the place the error came from."""
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [(f, line) for f, line in frames if f.f_code.co_filename == str(file)]
    if not own:  # it could not even be compiled
        line = error.lineno if isinstance(error, SyntaxError) else None
        *_, last = traceback.format_exception_only(error)
        shown = (getattr(error, "text", None) or "").strip()
        return SweepFileError(_message(place(file, line), last.strip(), shown))
    frame, line = own[-1]
    line = _argument_line(error, frame) or line
    what = _description(error, frame).removeprefix(f"{place(file, line)}: ")
    text = _message(place(file, line), what, linecache.getline(str(file), line).strip())
    return SweepFileError(text, _hint(error, file, frames[-1]))


def _message(where: str, what: str, line: str) -> str:
    shown = f"\n    {bounded(line, MOST_OF_A_LINE)}" if line else ""
    return f"{where}: {what}{shown}"


def _description(error: BaseException, frame: FrameType) -> str:
    if isinstance(error, SweepError):
        return error.message
    if isinstance(error, SystemExit):
        return "a sweep file must not end the program (SystemExit)"
    return f"{described(error)}{_nearest(error, frame.f_globals)}"


def _hint(error: BaseException, file: Path, innermost: tuple[FrameType, int]) -> str:
    if isinstance(error, SweepError):
        return error.hint
    (frame, line), origin = innermost, innermost[0].f_code.co_filename
    if isinstance(error, SyntaxError) and error.filename:
        origin, line = error.filename, error.lineno or 0
    is_ours = frame.f_globals.get("__name__", "").startswith("orchestrator.")
    if is_ours or origin == str(file) or origin.startswith("<frozen"):
        return ""
    shown = bounded(linecache.getline(origin, line).strip(), MOST_OF_A_LINE)
    return f"raised in {place(origin, line)}: {shown}"


def _argument_line(error: BaseException, frame: FrameType) -> int | None:
    """Return the line of an argument that the called function does not take."""
    match = _UNKNOWN_ARGUMENT.search(described(error)) if isinstance(error, TypeError) else None
    return argument_line(frame.f_code, frame.f_lasti, match[2]) if match else None


def _nearest(error: BaseException, names: Mapping[str, Any]) -> str:
    """Return the name that was probably meant, to follow the message, if there is one."""
    if isinstance(error, NameError) and error.name:
        return nearest(error.name, [*names, *dir(builtins)])
    if isinstance(error, AttributeError) and error.name:
        return nearest(error.name, dir(error.obj))
    if isinstance(error, TypeError) and (match := _UNKNOWN_ARGUMENT.search(described(error))):
        return nearest(match[2], _parameters(names.get(match[1])))
    return ""


def _parameters(called: object) -> Iterable[str]:
    try:
        return inspect.signature(called).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ()
