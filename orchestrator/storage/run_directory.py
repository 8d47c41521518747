"""A run directory: the folder of everything a sweep leaves behind, locked while it runs."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile, replace_file
from orchestrator.storage.sweep_record import SweepRecord


class RunDirectory:
    """A run directory that this process alone writes to."""

    def __init__(self, path: Path) -> None:
        """Create ``path`` if need be and lock it until it is released.

        Raises:
            RunDirectoryError: It cannot be written, or another driver has locked it.
        """
        self.path = path
        self._made: list[Path] = []
        try:
            # Noted before they are made: release() may remove these alone.
            self._made = [place for place in (path, *path.parents) if not place.exists()]
            path.mkdir(parents=True, exist_ok=True)
            # Not "w": until it is locked the number in it is another driver's.
            self._lock = (path / ".lock").open("a+")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._lock.truncate(0)
            self._lock.write(str(os.getpid()))
            self._lock.flush()
        except BlockingIOError:
            self._lock.seek(0)
            owner = self._lock.read().strip() or "unknown"
            self._lock.close()
            raise RunDirectoryError(
                f"{path}: another driver (process {owner}) is writing to this run directory",
                "wait for it to end, or give another --out",
            ) from None
        except OSError as error:
            self._remove_made()
            raise RunDirectoryError(
                f"run directory {path} cannot be written: {error.strerror or error}",
                "give a folder elsewhere by --out, or make room there",
            ) from None

    @property
    def journal(self) -> Path:
        """Return the journal's file."""
        return self.path / RunFile.JOURNAL

    @property
    def has_begun(self) -> bool:
        """Return True if the run has journalled anything."""
        return _has_begun(self.journal)

    @property
    def paused(self) -> Path:
        """Return the folder of checkpoints of paused learning curves; removed at the end."""
        return (self.path / "paused").resolve()

    def write_sweep(self, sweep: SweepRecord) -> None:
        """Write ``sweep.json``; a reader never sees half of it."""
        text = json.dumps(sweep.to_json(), indent=2) + "\n"
        replace_file(self.path / RunFile.SWEEP, lambda path: path.write_text(text))

    def release(self) -> None:
        """Unlock the directory; remove what was made for a run that never began."""
        with suppress(OSError):
            self._lock.truncate(0)
        # Still locked: no other driver may begin in a folder that is being removed.
        with suppress(OSError):
            if not self.has_begun:
                self._remove_made()
        self._lock.close()

    def _remove_made(self) -> None:
        if self.path in self._made:
            shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):  # another run's folder is in it
            for folder in self._made[1:]:
                folder.rmdir()


def _has_begun(journal: Path) -> bool:
    """Return True if there is a whole line in a journal, be it damaged."""
    if not journal.exists():
        return False
    with journal.open("rb") as file:
        return file.readline().endswith(b"\n")


def require_new(path: Path) -> None:
    """Check that no run has begun in ``path``.

    Raises:
        RunDirectoryError: One has.
    """
    if _has_begun(path / RunFile.JOURNAL):
        raise RunDirectoryError(
            f"--out {path}: contains a run already",
            f"resume it by --resume {path}, or give another",
        )


def directory_of_this_second(folder: Path) -> RunDirectory:
    """Return a new run directory in ``folder``, named by the time.

    Drivers that start in one second have one each: the second one's ends in ``-2``.

    Raises:
        RunDirectoryError: It cannot be made.
    """
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S")
    names = (stamp, *(f"{stamp}-{number}" for number in range(2, 1000)))
    return RunDirectory(next(path for name in names if not (path := folder / name).exists()))
