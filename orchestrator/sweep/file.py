"""A sweep file, run as a module of its own; errors in it become messages."""

from __future__ import annotations

import importlib.util
import linecache
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn

from orchestrator.errors import SweepFileError
from orchestrator.locations import place
from orchestrator.repository import PROJECT, folders_after, folders_before, make_importable
from orchestrator.sweep.tracebacks import explained

_NUM_NAMES = 12
_HOOK: Final = "RAY_RUNTIME_ENV_HOOK"
_STARTS_RAY: Final = "it starts Ray, or joins one, when it is imported"
_HOW_NOT_TO: Final = (
    "put ray.init, ray.put, ray.get and tuner.fit() under if __name__ == '__main__': the program "
    "starts its own Ray"
)


def run_sweep_file(path: Path) -> ModuleType:
    """Run a sweep file, afresh on every call.

    What lies under the root of its repository, the current folder and its own folder can be
    imported from it. The module gets the name by which a process with the same path would import
    it, so that functions defined in it can be found from there.

    Raises:
        SweepFileError: The file cannot be read, raises, or starts Ray.
    """
    source = _source(path)
    file = path.resolve()
    make_importable(file)
    name = _module_name(file)
    module = ModuleType(name)
    module.__file__ = str(file)
    linecache.checkcache(str(file))
    sys.modules[name] = module
    had_ray = _has_ray()
    try:
        with _refusing_ray():
            exec(compile(source, str(file), "exec"), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again, as a message
        sys.modules.pop(name, None)
        raise explained(error, file) from None
    finally:
        joins_ray = _has_ray() and not had_ray  # by a call that is none of ray.init
        if joins_ray:
            sys.modules["ray"].shutdown()
    if joins_ray:
        raise SweepFileError(f"{place(file)}: {_STARTS_RAY}", _HOW_NOT_TO)
    return module


def whose_code(file: Path) -> str:
    """Return which code is run, and its owner; empty where the file cannot be seen.

    A run directory may be another user's, and names the file that is run.
    """
    path = file.resolve()
    try:
        return f"runs the code of {path}, which belongs to {path.owner()}"
    except (OSError, KeyError):  # a user without a name, as in a container
        return f"runs the code of {path}" if path.exists() else ""


@contextmanager
def _refusing_ray() -> Iterator[None]:
    """Have Ray's own hook of ``ray.init``, which whatever needs a running Ray calls, refuse it."""
    before = os.environ.get(_HOOK)
    os.environ[_HOOK] = f"{__name__}.{refuse_ray.__name__}"
    try:
        yield
    finally:
        del os.environ[_HOOK]
        if before is not None:
            os.environ[_HOOK] = before


def refuse_ray(_runtime_env: object) -> NoReturn:
    """Refuse to start Ray while a sweep file is imported.

    Raises:
        SweepFileError: In any case.
    """
    raise SweepFileError(_STARTS_RAY, _HOW_NOT_TO)


def _has_ray() -> bool:
    """Return True where Ray was started in this process, or joined."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


def _source(path: Path) -> str:
    if path.is_dir():
        raise SweepFileError(f"{path} is a folder, not a sweep file", _files_in(path))
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise SweepFileError(f"{path}: there is no folder {folder}")
        close = get_close_matches(path.stem, [file.stem for file in folder.glob("*.py")], n=1)
        meant = f"; did you mean '{close[0]}.py'?" if close else ""
        raise SweepFileError(f"{path}: no such file{meant}", _files_in(folder))
    if path.suffix != ".py":
        raise SweepFileError(f"{path} is not a Python file", _files_in(path.parent))
    try:
        return importlib.util.decode_source(path.read_bytes())
    except (OSError, ValueError, LookupError, SyntaxError) as error:
        raise SweepFileError(f"{path} cannot be read: {error}") from None


def _files_in(folder: Path) -> str:
    names = sorted(file.name for file in folder.glob("*.py") if file.name != "__init__.py")
    shown = ", ".join(names[:_NUM_NAMES]) + (", ..." if len(names) > _NUM_NAMES else "")
    return f"in {folder}: {shown}" if names else f"there is no .py file in {folder}"


def _module_name(file: Path) -> str:
    """Return the name under which the file can be imported, or one that nothing else has."""
    *inner, own = folders_after(file)
    for folder in (*inner, *folders_before(file), PROJECT, own):
        if file.is_relative_to(folder):
            parts = file.relative_to(folder).with_suffix("").parts
            if all(part.isidentifier() for part in parts) and _finds(".".join(parts), file):
                return ".".join(parts)
    return "sweep_file_" + re.sub(r"\W", "_", file.stem)


def _finds(name: str, file: Path) -> bool:
    loaded = sys.modules.get(name)
    if loaded is not None:
        return getattr(loaded, "__file__", None) == str(file)
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # noqa: BLE001 - the package around it is the user's, and may raise anything
        return False
    return spec is not None and spec.origin == str(file)
