"""A run directory: locked while a run writes to it; its files by name, written whole or not."""

import csv
import fcntl
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from orchestrator.errors import RunDirectoryError, nearest
from orchestrator.system.disk import sync


class RunFile(StrEnum):
    """A file of a run directory: ``run_dir / RunFile.SWEEP``."""

    SWEEP = "sweep.json"
    """The sweep as it was resolved, and where it ran."""
    JOURNAL = "journal.jsonl"
    """Every fact of the run, in order; all else is made of it and of ``sweep.json``."""
    STEPS = "steps.jsonl"
    """The times of steps, written like the journal."""
    TRIALS = "trials.parquet"
    TRIALS_TEXT = "trials.csv"
    CURVES = "curves.parquet"
    STEP_TIMES = "steps.parquet"
    CANDIDATES = "candidates.parquet"
    """The configs of a factored search, trained or not; absent for other searches."""
    OUTPUT = "output"
    """A folder: what each trial has printed, ``TRIAL_ID.txt``; absent where none has."""
    FRONT = "front.csv"
    FRONT_PLOT = "front.svg"
    SPEEDS = "speeds.csv"
    """The speed that the answer uses for a trial's config, by trial."""
    RECOMMENDED = "recommended.json"
    ANSWER = "answer.md"
    """The answer in Markdown, as MLflow's page has it; to be pasted anywhere."""
    REPORT = "report.html"
    MLFLOW = "mlflow.txt"
    """What shows the run in MLflow's pages: an address, below a command where it needs one."""
    TRACKERS = "trackers.json"
    """Calls that each of the sweep's own trackers has had; absent without one."""


def rest_of(run_dir: Path) -> str:
    """Return the option that runs the rest of a run."""
    return f"--resume {run_dir}"


_NAMES: Final = (*RunFile, ".lock", "paused", "mlflow.log")
"""Names of a run directory; what else is there is the user's."""


def no_run(folder: Path) -> RunDirectoryError:
    """Return the error for a folder that is no run directory; it names the run that was meant."""
    if folder.is_dir():
        what = f"it has no {RunFile.SWEEP}"
    else:
        what = "it is a file" if folder.exists() else "no such folder"
    beside = [path.parent.name for path in folder.parent.glob(f"*/{RunFile.SWEEP}")]
    hint = "give the folder that a sweep printed, runs/<sweep>/<time>"
    if below := [*folder.glob(f"*/{RunFile.SWEEP}"), *folder.glob(f"*/*/{RunFile.SWEEP}")]:
        latest = max(below, key=lambda path: path.stat().st_mtime)
        hint = f"the latest run in it: {latest.parent}"
    return RunDirectoryError(
        f"{folder}: is not a run directory ({what}){nearest(folder.name, beside)}", hint
    )


def require_no_links(run_dir: Path) -> None:
    """Check that no link in a run directory leads to a file elsewhere, to be read or written.

    Raises:
        RunDirectoryError: There is one, whoever has made it.
    """
    for folder in (run_dir, run_dir / RunFile.OUTPUT):
        # No folder, or no name of one.
        with suppress(OSError, ValueError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() and (folder != run_dir or entry.name in _NAMES):
                    what = f"{entry.path}: is a link, which is not followed"
                    raise RunDirectoryError(what, "remove it")


def read_recommended(run_dir: Path) -> dict[str, Any] | None:
    """Return the content of ``recommended.json``; None where the file is absent or damaged."""
    try:
        content = json.loads((run_dir / RunFile.RECOMMENDED).read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and "config" in content else None


def table_ids(run_dir: Path) -> set[str]:
    """Return the ids of the trials in ``trials.csv``; none where it is absent or damaged."""
    with suppress(OSError, ValueError, KeyError, csv.Error):
        text = (run_dir / RunFile.TRIALS_TEXT).read_text(encoding="utf-8")
        return {row["trial_id"] for row in csv.DictReader(io.StringIO(text, newline=""))}
    return set()


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name, sync it and rename it.

    Args:
        path: The file.
        write: Writes it under another name.

    Raises:
        OSError: It cannot be written, and names ``path``; nothing is left of it.
    """
    with renamed_to(path) as temporary:
        write(temporary)


@contextmanager
def renamed_to(path: Path) -> Iterator[Path]:
    """Yield the name of a file or folder to make in the folder of ``path``; rename it at the end.

    A file is synced before, its folder after. No other process has that name: two may write the
    same file at once, and the last one stays.

    Raises:
        OSError: That cannot be done, and names ``path``; nothing is left of it.
    """
    temporary = path.with_name(f".{token_hex(8)}.tmp")
    try:
        yield temporary
        if temporary.is_file():
            sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        # One without a number is a sentence alone, as pandas raises it.
        if error.errno is not None and error.filename in (None, str(temporary)):
            error.filename = str(path)
            del error.filename2
        raise
    finally:
        with suppress(OSError):
            if temporary.is_dir():
                shutil.rmtree(temporary)
            else:
                temporary.unlink(missing_ok=True)


# -- the folder


class RunDirectory:
    """A run directory that this process alone writes to."""

    def __init__(self, path: Path) -> None:
        """Create ``path`` if need be and lock it until it is released.

        Raises:
            RunDirectoryError: It cannot be written, has links in it, or another driver has locked
                it.
        """
        self.path = path
        self._made: list[Path] = []
        try:
            require_no_links(path)
            # Noted before they are made: release() may remove these alone.
            self._made = [place for place in (path, *path.parents) if not place.exists()]
            path.mkdir(parents=True, exist_ok=True)
            for folder in path.absolute().parents[:3]:  # runs/SWEEP/TIME
                with suppress(PermissionError):
                    sync(folder)
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

    @classmethod
    def new(cls, path: Path | None, folder: Path) -> "RunDirectory":
        """Return the directory of a new run: ``path``, or one in ``folder`` named by the time.

        Drivers that start in one second have one each: the second one's ends in ``-2``.

        Raises:
            RunDirectoryError: It cannot be made, or contains a run.
        """
        if path is None:
            stamp = time.strftime("%Y-%m-%dT%H-%M-%S")
            names = (stamp, *(f"{stamp}-{number}" for number in range(2, 1000)))
            path = next(path for name in names if not (path := folder / name).exists())
        directory = cls(path)
        if directory.has_begun:
            directory.release()
            raise RunDirectoryError(
                f"--out {path}: contains a run already",
                f"resume it by {rest_of(path)}, or give another",
            )
        return directory

    @property
    def journal(self) -> Path:
        """Return the journal's file."""
        return self.path / RunFile.JOURNAL

    @property
    def has_begun(self) -> bool:
        """Return True if the run has journalled anything."""
        if not self.journal.exists():
            return False
        with self.journal.open("rb") as file:
            return file.readline().endswith(b"\n")  # a whole line, be it damaged

    @property
    def curves(self) -> Path:
        """Return the folder of checkpoints of paused learning curves; removed at the end."""
        return (self.path / "paused").absolute()

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
