"""A run directory: where everything a sweep leaves behind is, locked while it runs."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile

_NEEDED = {"file": str, "options": dict, "data": str}
"""What a run cannot be gone on with without, and its type in ``sweep.json``."""


class RunDirectory:
    """A run directory that this process alone writes to."""

    def __init__(self, path: Path) -> None:
        """Creates ``path`` if need be and locks it until it is released.

        Raises:
            RunDirectoryError: It cannot be written, or another driver has locked it.
        """
        self.path = path
        try:
            self._made = [place for place in (path, *path.parents) if not place.exists()]
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / ".lock").open("a+")
        except OSError as error:
            raise RunDirectoryError(
                f"run directory {path} cannot be written: {error.strerror or error}",
                "give a folder that can be created or written",
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.seek(0)
            owner = self._lock.read().strip() or "unknown"
            raise RunDirectoryError(
                f"{path}: another driver (process {owner}) is writing to this run directory",
                "wait for it to end, or give another --out",
            ) from None
        self._lock.truncate(0)
        self._lock.write(str(os.getpid()))
        self._lock.flush()

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.path / RunFile.JOURNAL

    def write_sweep(self, sweep: Mapping[str, Any]) -> None:
        """Writes ``sweep.json``; a reader never sees half of it."""
        text = json.dumps(sweep, indent=2, default=str) + "\n"
        replace_file(self.path / RunFile.SWEEP, lambda path: path.write_text(text))

    def release(self) -> None:
        """Unlocks the directory; one that was made for a run that never began is removed."""
        with suppress(OSError):
            self._lock.truncate(0)
        if self._made and not _has_begun(self.journal):
            shutil.rmtree(self.path, ignore_errors=True)
            with suppress(OSError):  # another run's folder is beside it
                for parent in self._made[1:]:
                    parent.rmdir()
        self._lock.close()


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file beside ``path`` and renames it: a reader never sees half of it.

    Raises:
        OSError: It cannot be written; nothing is left of it.
    """
    beside = path.with_name(f".{path.name}.tmp")
    try:
        write(beside)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def _has_begun(journal: Path) -> bool:
    return journal.exists() and journal.stat().st_size > 0


def require_new(path: Path) -> None:
    """Checks that ``path`` does not already hold a run.

    Raises:
        RunDirectoryError: It does.
    """
    if (path / RunFile.JOURNAL).exists():
        raise RunDirectoryError(
            f"--out {path}: holds a run already",
            f"go on with it by --resume {path}, or give another",
        )


def read_sweep(path: Path) -> dict[str, Any]:
    """What ``sweep.json`` of a run says.

    Raises:
        RunDirectoryError: ``path`` is not a run directory, or its ``sweep.json`` is damaged.
    """
    try:
        sweep = json.loads((path / RunFile.SWEEP).read_text())
    except FileNotFoundError:
        missing = f"it has no {RunFile.SWEEP}" if path.is_dir() else "no such folder"
        raise RunDirectoryError(
            f"{path}: is not a run directory ({missing})",
            "give the folder that a sweep printed, runs/<sweep>/<time>",
        ) from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except ValueError as error:
        raise _unreadable(path, str(error)) from None
    if not isinstance(sweep, dict):
        raise _unreadable(path, f"it holds a {type(sweep).__name__}, not an object")
    for name, kind in _NEEDED.items():
        if name not in sweep:
            raise _unreadable(path, f"it has no {name!r}")
        if not isinstance(sweep[name], kind):
            raise _unreadable(path, f"{name!r} is a {type(sweep[name]).__name__}")
    return cast("dict[str, Any]", sweep)


def _unreadable(path: Path, why: str) -> RunDirectoryError:
    return RunDirectoryError(f"{path / RunFile.SWEEP}: cannot be read: {why}", "start a new run")
