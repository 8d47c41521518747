"""A run directory: where everything a sweep leaves behind is, locked while it runs."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.errors import RunDirectoryError
from orchestrator.journal import JOURNAL_NAME

SWEEP_NAME = "sweep.json"


class RunDirectory:
    """A run directory that this process alone writes to."""

    def __init__(self, path: Path) -> None:
        """Creates ``path`` if need be and locks it.

        Raises:
            RunDirectoryError: It cannot be written, or another driver has locked it.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / ".lock").open("a+")
        except OSError as error:
            raise RunDirectoryError(
                f"--out {path}: cannot be written: {error.strerror or error}",
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
        return self.path / JOURNAL_NAME

    def write_sweep(self, sweep: Mapping[str, Any]) -> None:
        """Writes ``sweep.json``; a reader never sees half of it."""
        beside = self.path / f"{SWEEP_NAME}.tmp"
        beside.write_text(json.dumps(sweep, indent=2, default=str) + "\n")
        beside.replace(self.path / SWEEP_NAME)

    def release(self) -> None:
        """Unlocks the directory."""
        with suppress(OSError):
            self._lock.truncate(0)
        self._lock.close()


def require_new(path: Path) -> None:
    """Checks that ``path`` does not already hold a run.

    Raises:
        RunDirectoryError: It does.
    """
    if (path / JOURNAL_NAME).exists():
        raise RunDirectoryError(
            f"--out {path}: holds a run already",
            f"go on with it by --resume {path}, or give another",
        )


def read_sweep(path: Path) -> dict[str, Any]:
    """What ``sweep.json`` of a run says.

    Raises:
        RunDirectoryError: ``path`` is not a run directory.
    """
    try:
        sweep: dict[str, Any] = json.loads((path / SWEEP_NAME).read_text())
    except FileNotFoundError:
        missing = f"it has no {SWEEP_NAME}" if path.is_dir() else "no such folder"
        raise RunDirectoryError(
            f"{path}: is not a run directory ({missing})",
            "give the folder that a sweep printed, runs/<sweep>/<time>",
        ) from None
    except (json.JSONDecodeError, NotADirectoryError) as error:
        raise RunDirectoryError(f"{path / SWEEP_NAME}: cannot be read: {error}") from None
    return sweep
