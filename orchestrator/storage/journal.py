"""The journal: the append-only file that every fact of a sweep is written to first.

One JSON object a line. Each has ``at`` (Unix time, to the millisecond) and ``event``:

==========  ===============================================================
event       further keys
==========  ===============================================================
sweep       ``sweep``: :meth:`SweepRecord.to_json`; the first line
resumed     ``sweep``: the same, of the process that went on
asked       ``trial``: :meth:`Trial.to_json`
started     ``trial_id``, ``node``, ``cores``, and ``restored_epochs`` where it goes on from a
            checkpoint
report      ``trial_id``, ``report``: :meth:`Report.to_json`
finished    ``trial_id``, ``result``: :meth:`TrialResult.to_json`
merged      ``trial``: asked for again; the row that has its id is the answer
waiting     ``trial_id``, ``seconds``, ``what``: it cannot start yet
cut         ``part``: ``search`` or ``confirm``; ``by``: the budget that has no room for more;
            ``limits``: all budgets; ``text``: what was left out
went_on     ``trials``: configs to try in all from here on, or null: the search goes on after a
            cut, or is extended
note        ``text``: something the user should know, once
ended       ``exit_code``
==========  ===============================================================

A trial that was asked for and has no ``finished`` line was interrupted; on resume it
runs again under the same id. Reports before its last ``started`` line are void, except those
of the epochs that it restored.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from orchestrator.errors import RunDirectoryError
from orchestrator.regular_files import open_regular, open_to_append, open_to_change
from orchestrator.storage.events import OF_A_DAMAGED_LINE, Event, EventReader
from orchestrator.texts import bounded

__all__ = ["Event", "Journal", "read_journal", "read_steps"]

_SHOWN: Final = 300
"""Characters of the reason that are shown."""


class Journal:
    """A file that events are appended to, each flushed before the call returns.

    A process that is killed at any moment loses at most the line it was writing.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        """Open ``path`` for appending; cut off a torn last line first.

        Args:
            path: The file.
            now: Unix time of an event.

        Raises:
            OSError: It cannot be written, or is no plain file: a link, a pipe.
        """
        self.path = path
        self.now = now
        _cut_torn_line(path)
        self._file = open_to_append(path)

    def append(self, event: str, **content: Any) -> Event:  # noqa: ANN401 - plain JSON values
        """Write one event; return it as a reader would see it."""
        line: Event = {"at": round(self.now(), 3), "event": event, **content}
        self._file.write(json.dumps(line, separators=(",", ":"), default=str).encode() + b"\n")
        # To the kernel, which keeps it if this process is killed; close() waits for the disk.
        self._file.flush()
        if self._is_removed:  # the kernel takes what is written to it, and nobody can read that
            raise OSError(errno.ENOENT, "it was removed while the run wrote to it", str(self.path))
        return line

    def close(self) -> None:
        """Write the file through to the disk and close it; one that was removed is put back.

        Raises:
            OSError: That is not possible.
        """
        try:
            os.fsync(self._file.fileno())
            if self._is_removed:
                self._put_back()
        finally:
            self._file.close()

    @property
    def _is_removed(self) -> bool:
        return os.fstat(self._file.fileno()).st_nlink == 0

    def _put_back(self) -> None:
        """Write what the open file still holds to its place again."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = Path(f"/proc/self/fd/{self._file.fileno()}").read_bytes()
        with self.path.open("xb") as again:
            again.write(content)


def read_journal(path: Path) -> Iterator[Event]:
    """Yield the events of a journal in order; drop a torn last line.

    Raises:
        FileNotFoundError: There is no journal at ``path``.
        RunDirectoryError: It cannot be read, or a line of it that is whole is damaged; names
            the line.
    """
    reader = EventReader()
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n") and not _is_whole(line):
                return  # it is being written now, or its writer was killed within it
            try:
                event = reader.read(line, of_trials=True)
            except OF_A_DAMAGED_LINE as error:
                raise _damaged(path, number, error) from None
            yield event


def read_steps(path: Path) -> Iterator[Event]:
    """Yield the events of ``steps.jsonl`` in order; lines that are damaged are left out.

    Nothing but the times of steps is in them: a run is neither resumed nor judged by those.
    """
    reader = EventReader()
    with _opened(path) as file:
        for line in file:
            with suppress(*OF_A_DAMAGED_LINE):
                yield reader.read(line, of_trials=False)


def _opened(path: Path) -> BinaryIO:
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None


def _is_whole(line: bytes) -> bool:
    """Return True for a last line that lacks nothing but its end: an object is whole or is none."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _damaged(path: Path, number: int, error: Exception) -> RunDirectoryError:
    why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return RunDirectoryError(
        f"{path}:{number} is damaged: {bounded(why, _SHOWN)}",
        "restore the line, or start a new run",
    )


def _cut_torn_line(path: Path) -> None:
    if not os.path.lexists(path):
        return
    with open_to_change(path) as file:
        # Else the next event would be written behind it, and make a damaged line with it.
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content) and _is_whole(content[whole:]):
            file.write(b"\n")
        else:
            file.truncate(whole)
