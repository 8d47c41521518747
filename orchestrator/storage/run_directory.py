"""A run directory: the folder of everything a sweep leaves behind, locked while it runs."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from orchestrator.errors import NO_ROOM, RunDirectoryError, file_of
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.system.lock_files import open_lock


class RunDirectory:
    """A run directory that this process alone writes to."""

    def __init__(self, path: Path) -> None:
        """Create ``path`` if need be and lock it until it is released.

        Raises:
            RunDirectoryError: It cannot be written, or another driver has locked it.
        """
        self.path = path
        try:
            # Noted before they are made: release() may remove these alone.
            self._made = [place for place in (path, *path.parents) if not place.exists()]
            path.mkdir(parents=True, exist_ok=True)
            # Not "w": until it is locked the number in it is another driver's.
            self._lock = os.fdopen(open_lock(path / ".lock", writable=True), "r+")
        except OSError as error:
            raise _unwritable(path, error) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.seek(0)
            owner = self._lock.read().strip() or "unknown"
            self._lock.close()
            raise RunDirectoryError(
                f"{path}: another driver (process {owner}) is writing to this run directory",
                "wait for it to end, or give another --out",
            ) from None
        try:
            self._lock.truncate(0)
            self._lock.write(str(os.getpid()))
            self._lock.flush()
        except OSError as error:
            raise _unwritable(path, error) from None

    @property
    def journal(self) -> Path:
        """Return the journal's file."""
        return self.path / RunFile.JOURNAL

    @property
    def paused(self) -> Path:
        """Return the folder of checkpoints of paused learning curves; removed at the end."""
        return (self.path / "paused").resolve()

    @property
    def path_now(self) -> Path:
        """Return where the directory is now: it may have been moved while the run wrote to it."""
        with suppress(OSError):
            now = Path(f"/proc/self/fd/{self._lock.fileno()}").readlink().parent
            if now.is_dir() and not (self.path.exists() and now.samefile(self.path)):
                return now
        return self.path

    def write_sweep(self, sweep: SweepRecord) -> None:
        """Write ``sweep.json``; a reader never sees half of it."""
        text = json.dumps(sweep.to_json(), indent=2) + "\n"
        replace_file(self.path / RunFile.SWEEP, lambda path: path.write_text(text))

    def explained(self, error: OSError, sweep: SweepRecord) -> str:
        """Return why nothing more could be written, as a sentence.

        The journal of a directory that was removed has been put back; its ``sweep.json`` is here,
        so that the run can be gone on with.
        """
        if not (self.path / RunFile.SWEEP).exists() and self.journal.exists():
            with suppress(OSError):
                self.write_sweep(sweep)
            return f"{self.path} was removed while the run wrote to it; its journal is put back"
        if self.path_now != self.path:
            return f"{self.path} was moved to {self.path_now} while the run wrote to it"
        if error.errno in NO_ROOM:
            return f"there is no room left to write: {error}"
        return f"{file_of(error) or self.path}: {error.strerror or error}"

    def release(self) -> None:
        """Unlock the directory; remove one that was made for a run that never began."""
        with suppress(OSError):
            self._lock.truncate(0)
        # Still locked: no other driver may begin in a folder that is being removed.
        if self._made and not _has_begun(self.journal):
            shutil.rmtree(self.path, ignore_errors=True)
            with suppress(OSError):  # another run's folder is beside it
                for parent in self._made[1:]:
                    parent.rmdir()
        self._lock.close()


def _unwritable(path: Path, error: OSError) -> RunDirectoryError:
    return RunDirectoryError(
        f"run directory {path} cannot be written: {error.strerror or error}",
        "give a folder that can be created or written",
    )


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside ``path`` and rename it: a reader never sees half of it.

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
    """Check that ``path`` does not already hold a run.

    Raises:
        RunDirectoryError: It does.
    """
    if (path / RunFile.JOURNAL).exists():
        raise RunDirectoryError(
            f"--out {path}: holds a run already",
            f"go on with it by --resume {path}, or give another",
        )


def directory_of_this_second(folder: Path) -> RunDirectory:
    """Return a new run directory in ``folder``, named by the time.

    Of several drivers that start in one second each has its own: the second one's ends in ``-2``.

    Raises:
        RunDirectoryError: It cannot be made.
    """
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S")
    for number in count(1):
        path = folder / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            require_new(path)
            return RunDirectory(path)
        except RunDirectoryError:
            if not path.exists():  # it cannot be made, under any name
                raise
    raise AssertionError("numbers do not end")
