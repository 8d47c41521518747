"""A run directory: the folder of everything a sweep leaves behind, locked while it runs."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from orchestrator.errors import NO_ROOM, RunDirectoryError, file_of
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile
from orchestrator.storage.replacing import replace_file
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.system.lock_files import open_lock


class _TakenError(RunDirectoryError):
    """Folder that another run is in: one of another name may be free."""


class RunDirectory:
    """A run directory that this process alone writes to."""

    def __init__(self, path: Path) -> None:
        """Create ``path`` if need be and lock it until it is released.

        Raises:
            RunDirectoryError: It cannot be written, or another driver has locked it. What was
                made of it is removed.
        """
        self.path = path
        self._made: list[Path] = []
        try:
            # Noted before they are made: release() may remove these alone.
            self._made = [place for place in (path, *path.parents) if not place.exists()]
            path.mkdir(parents=True, exist_ok=True)
            # Not "w": until it is locked the number in it is another driver's.
            self._lock = os.fdopen(open_lock(path / ".lock", writable=True), "r+")
        except OSError as error:
            self._remove_empty(self._made)
            raise _unwritable(path, error) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.seek(0)
            owner = self._lock.read().strip() or "unknown"
            self._lock.close()
            raise _TakenError(
                f"{path}: another driver (process {owner}) is writing to this run directory",
                "wait for it to end, or give another --out",
            ) from None
        try:
            self._lock.truncate(0)
            self._lock.write(str(os.getpid()))
            self._lock.flush()
        except OSError as error:
            self.release()
            raise _unwritable(path, error) from None

    @property
    def journal(self) -> Path:
        """Return the journal's file."""
        return self.path / RunFile.JOURNAL

    @property
    def has_begun(self) -> bool:
        """Return True if the run has journalled anything, wherever the directory is now."""
        return _has_begun(self.path_now / RunFile.JOURNAL)

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
        so that the run can be resumed.
        """
        if error.errno in NO_ROOM:
            return f"there is no room left to write: {error}"
        if self._was_removed(error) and self.journal.exists():
            with suppress(OSError):
                self.write_sweep(sweep)
            return f"{self.path} was removed while the run wrote to it; its journal is put back"
        if self.path_now != self.path:
            return f"{self.path} was moved to {self.path_now} while the run wrote to it"
        return f"{file_of(error) or self.path}: {error.strerror or error}"

    def _was_removed(self, error: OSError) -> bool:
        is_gone = error.errno == errno.ENOENT or os.fstat(self._lock.fileno()).st_nlink == 0
        return is_gone and not (self.path / RunFile.SWEEP).exists()

    def release(self) -> None:
        """Unlock the directory; remove what was made for a run that never began."""
        with suppress(OSError):
            self._lock.truncate(0)
        # Still locked: no other driver may begin in a folder that is being removed.
        with suppress(OSError):
            if not self.has_begun:
                self._remove()
        with suppress(OSError):  # what could not be written to it is tried again
            self._lock.close()

    def _remove(self) -> None:
        if self._made:
            shutil.rmtree(self.path, ignore_errors=True)
            self._remove_empty(self._made[1:])
            return
        for file in (self.path / RunFile.JOURNAL, self.path / RunFile.STEPS):
            if file.exists() and not file.stat().st_size:
                file.unlink()

    @staticmethod
    def _remove_empty(folders: Sequence[Path]) -> None:
        with suppress(OSError):  # another run's folder is beside it
            for folder in folders:
                folder.rmdir()


def _unwritable(path: Path, error: OSError) -> RunDirectoryError:
    return RunDirectoryError(
        f"run directory {path} cannot be written: {error.strerror or error}",
        "make room there, or give a folder elsewhere by --out"
        if error.errno in NO_ROOM
        else "give a folder that can be created or written",
    )


def _has_begun(journal: Path) -> bool:
    """Return True if there is a line in a journal, be it damaged.

    Raises:
        OSError: It is not known.
    """
    if not journal.exists():
        return False
    try:
        return next(read_journal(journal), None) is not None
    except RunDirectoryError:
        return True


def require_new(path: Path) -> None:
    """Check that ``path`` does not already hold a run that has begun.

    Raises:
        RunDirectoryError: It does.
    """
    if _has_begun(path / RunFile.JOURNAL):
        raise _TakenError(
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
        with suppress(_TakenError):
            require_new(path)
            return RunDirectory(path)
    raise AssertionError("numbers do not end")
