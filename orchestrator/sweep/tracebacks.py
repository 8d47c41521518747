"""An error of a user's file without its traceback: place, cause and the nearest name."""

from __future__ import annotations

import builtins
import inspect
import linecache
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, nearest
from orchestrator.locations import argument_line, place
from orchestrator.repository import PACKAGE, not_imported
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import NAMES as RIGOR_FIELDS
from orchestrator.texts import MOST_OF_A_LINE, bounded, described

_MOST_OF_A_MESSAGE = 3_000
_UNKNOWN_ARGUMENT = re.compile(
    r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'"
)
_WITH_DOTS = re.compile("ImportError: attempted relative import")
_UNKNOWN_IMPORT = re.compile(r"cannot import name '(\w+)'")


def explained(error: BaseException, file: Path) -> SweepFileError:
    """Return the error as one about ``file``: its own line, and the place the error came from."""
    frames = [(f, line) for f, line in traceback.walk_tb(error.__traceback__) if _is_code(f)]
    own = [(f, line) for f, line in frames if f.f_code.co_filename == str(file)]
    if not own:  # it could not even be compiled
        return _uncompiled(error, file)
    frame, line = own[-1]
    line = _argument_line(error, frame) or line
    shown = _shown_line(str(file), line)
    where, what = place(file, line), _description(error, frame)
    message = what if what.startswith(f"{where}: ") else f"{where}: {what}"
    return SweepFileError(f"{message}\n    {shown}", _hint(error, file, frames[-1]))


def _is_code(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith("<frozen")


def _uncompiled(error: BaseException, file: Path) -> SweepFileError:
    if not isinstance(error, SyntaxError):
        return SweepFileError(f"{place(file)}: {described(error)}")
    message = f"{place(file, error.lineno)}: {type(error).__name__}: {error.msg}"
    text = (error.text or "").rstrip()
    if len(text) > MOST_OF_A_LINE:
        return SweepFileError(f"{message}\n    {bounded(text.lstrip(), MOST_OF_A_LINE)}")
    if text:
        message += f"\n    {text.lstrip()}"
    if text and error.offset:
        message += "\n    " + " " * (error.offset - 1 - (len(text) - len(text.lstrip()))) + "^"
    return SweepFileError(message)


def _description(error: BaseException, frame: FrameType) -> str:
    if isinstance(error, SweepError):
        return bounded(str(error.message), _MOST_OF_A_MESSAGE)
    if isinstance(error, SystemExit):
        return "a sweep file must not end the program (SystemExit)"
    return f"{described(error)}{_suggestion(error, frame.f_globals)}"


def _hint(error: BaseException, file: Path, innermost: tuple[FrameType, int]) -> str:
    if isinstance(error, SweepError):
        return bounded(str(error.hint), _MOST_OF_A_MESSAGE)
    if way_out := _other_import(error, file):
        return way_out
    (frame, line), origin = innermost, innermost[0].f_code.co_filename
    inside = frame.f_globals.get("__name__", "")
    if inside == Sweep.__module__ and isinstance(error, AttributeError):
        return "the first argument of Sweep must be a Trainable"
    if inside.partition(".")[0] == Sweep.__module__.partition(".")[0]:
        return ""
    if isinstance(error, SyntaxError) and isinstance(error.filename, str):
        origin, line = error.filename, error.lineno if isinstance(error.lineno, int) else 0
    if origin == str(file):
        return ""
    return f"raised in {place(origin, line)}: {_shown_line(origin, line)}"


def _other_import(error: BaseException, file: Path) -> str:
    """Return what to do about an import with dots, or of a name that Python has a module of."""
    if isinstance(error, ImportError) and _WITH_DOTS.match(described(error)):
        return "import without the dots: from the repository's root, or the sweep file's own folder"
    name: object = None
    if type(error) is AttributeError and type(error.obj) is ModuleType:
        name = error.obj.__name__
    elif isinstance(error, ImportError) and type(error) in (ImportError, ModuleNotFoundError):
        name = error.name
    users = not_imported(name, file) if isinstance(name, str) else None
    if users is None:
        return ""
    whose = "this program" if users.stem == PACKAGE else "Python"
    return f"{users} is not what is imported: {whose} has a module {users.stem}; rename it"


def _shown_line(file: str, line: int) -> str:
    return bounded(linecache.getline(file, line).strip(), MOST_OF_A_LINE)


def _argument_line(error: BaseException, frame: FrameType) -> int | None:
    """Return the line of an argument that the called function does not take."""
    match = _UNKNOWN_ARGUMENT.search(described(error)) if isinstance(error, TypeError) else None
    return argument_line(frame.f_code, frame.f_lasti, match[2]) if match else None


def _suggestion(error: BaseException, names: Mapping[str, Any]) -> str:
    """Return a suggestion of the name that was probably meant, if there is one."""
    try:
        return _nearest(error, names)
    except Exception:  # noqa: BLE001 - what the user's code has put into the error, of any type
        return ""


def _nearest(error: BaseException, names: Mapping[str, Any]) -> str:
    if isinstance(error, NameError) and error.name:
        return nearest(error.name, [*names, *dir(builtins)])
    if isinstance(error, AttributeError) and error.name:
        return nearest(error.name, dir(error.obj))
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, _, last = error.name.rpartition(".")
        return nearest(last, _modules_in(package))
    if isinstance(error, ImportError) and (match := _UNKNOWN_IMPORT.search(described(error))):
        return nearest(match[1], dir(sys.modules.get(error.name or "")))
    if isinstance(error, TypeError) and (match := _UNKNOWN_ARGUMENT.search(described(error))):
        if match[1] == Sweep.__name__ and match[2] in RIGOR_FIELDS:
            return f"; {match[2]} is a field of its rigor now: rigor=Rigor({match[2]}=...)"
        taken = _parameters(names.get(match[1]))
        return nearest(match[2], taken)
    return ""


def _modules_in(package: str) -> Iterable[str]:
    paths = sys.modules[package].__path__ if package in sys.modules else sys.path
    return [module.name for module in pkgutil.iter_modules(paths)]


def _parameters(called: object) -> Iterable[str]:
    try:
        return inspect.signature(called).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ()
