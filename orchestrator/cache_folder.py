"""The folder of converted data sets: in the user's cache, or beside other temporary files."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import DataError
from orchestrator.named_paths import named_path

VARIABLE = "SWEEP_CACHE"


def cache_folder() -> Path:
    """Return ``$SWEEP_CACHE``, else the user's cache; a folder of its own where HOME is read-only.

    Raises:
        DataError: HOME cannot be written, and what lies in that other place is not this user's.
    """
    if named := os.environ.get(VARIABLE):
        return named_path(named, VARIABLE).absolute()
    usual = _usual_place()
    if usual is not None and _can_be_written(usual):
        return usual.absolute()
    return _private(Path(tempfile.gettempdir()) / f"sweep-cache-{os.geteuid()}")


def _usual_place() -> Path | None:
    return _below_home("XDG_CACHE_HOME", ".cache", "sweep-orchestrator")


def _below_home(variable: str, usual: str, name: str) -> Path | None:
    if named := os.environ.get(variable):
        return Path(named) / name
    try:
        return Path.home() / usual / name
    except RuntimeError:  # no HOME, and the user has no entry, as in some containers
        return None


def _can_be_written(path: Path) -> bool:
    try:
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
    except OSError:  # a folder above it may not be searched, or its name is too long
        return False
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _private(folder: Path) -> Path:
    """Return a folder of this user alone; any user can place something there before."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    is_own = found.st_uid == os.geteuid() and not found.st_mode & 0o022
    if not (stat.S_ISDIR(found.st_mode) and is_own):
        raise DataError(
            f"{folder}: is not a folder of this user alone, and HOME cannot be written",
            f"converted data is kept there: set {VARIABLE} to a folder of your own",
        )
    return folder
