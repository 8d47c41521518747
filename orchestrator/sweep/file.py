"""A sweep file, run as a module of its own; errors in it become messages."""

from __future__ import annotations

import importlib.util
import linecache
import os
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from orchestrator.errors import SweepFileError
from orchestrator.locations import place
from orchestrator.repository import PROJECT, folders_after, folders_before, make_importable
from orchestrator.sweep.no_ray import HOW_NOT_TO, STARTS_RAY, refusing_ray
from orchestrator.sweep.tracebacks import explained

_NUM_NAMES = 12


def run_sweep_file(path: Path) -> ModuleType:
    """Run a sweep file, afresh on every call.

    What lies under the root of its repository, the current folder and its own folder can be
    imported from it. The module gets the name by which a process with the same path would import
    it, so that functions defined in it can be found from there.

    Raises:
        SweepFileError: The file cannot be read, or raises.
    """
    source = _source(path)
    file = path.resolve()
    make_importable(file)
    name = _module_name(file)
    module = ModuleType(name)
    module.__file__ = str(file)
    linecache.checkcache(str(file))
    sys.modules[name] = module
    had_ray, import_path = _has_ray(), sys.path.copy()
    try:
        with refusing_ray():
            exec(compile(source, str(file), "exec"), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again, as a message
        sys.modules.pop(name, None)
        raise explained(error, file) from None
    finally:
        _keep_importable(import_path)
        module.__name__, module.__file__ = name, str(file)
        _keep_streams()
        joins_ray = _has_ray() and not had_ray  # by a call that is none of ray.init
        if joins_ray:
            sys.modules["ray"].shutdown()
    if joins_ray:
        raise SweepFileError(f"{place(file)}: {STARTS_RAY}", HOW_NOT_TO)
    return module


def _keep_importable(before: list[str]) -> None:
    """Leave in the import path what the file has added, and nothing out that was there."""
    added = [folder for folder in sys.path if isinstance(folder, str)]
    sys.path[:] = [*added, *(folder for folder in before if folder not in added)]


def _keep_streams() -> None:
    """Replace the standard streams and the hook that the file has closed or taken away."""
    if not callable(sys.excepthook):
        sys.excepthook = sys.__excepthook__
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if getattr(stream, "closed", True):
            usual = getattr(sys, f"__{name}__")
            is_open = usual is not None and not usual.closed
            setattr(sys, name, usual if is_open else Path(os.devnull).open(mode))  # noqa: SIM115 - it stays open


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
