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
            ``limits``: all budgets
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

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from orchestrator.errors import RunDirectoryError
from orchestrator.trial import Report, Trial, TrialResult

Event = dict[str, Any]


class Journal:
    """A file that events are appended to, each flushed before the call returns.

    A process that is killed at any moment loses at most the line it was writing.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        """Open ``path`` for appending; cut off a torn last line first.

        Args:
            path: The file.
            now: Unix time of an event.
        """
        self.path = path
        self.now = now
        _cut_torn_line(path)
        self._file = path.open("ab")

    def append(self, event: str, **content: Any) -> Event:  # noqa: ANN401 - plain JSON values
        """Write one event; return it as a reader would see it."""
        line: Event = {"at": round(self.now(), 3), "event": event, **content}
        self._file.write(json.dumps(line, separators=(",", ":"), default=str).encode() + b"\n")
        # To the kernel, which keeps it if this process is killed; close() waits for the disk.
        self._file.flush()
        return line

    def close(self) -> None:
        """Write the file through to the disk and close it."""
        os.fsync(self._file.fileno())
        self._file.close()


def read_journal(path: Path) -> Iterator[Event]:
    """Yield the events of a journal in order; drop a torn last line.

    Raises:
        FileNotFoundError: There is no journal at ``path``.
        RunDirectoryError: It cannot be read, or a line of it that is whole is damaged; names
            the line.
    """
    asked: set[str] = set()
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            # It is being written now, or its writer was killed within it.
            if not line.endswith(b"\n"):
                return
            try:
                event = _checked(line, asked)
            except (ValueError, TypeError, AttributeError) as error:
                raise _damaged(path, number, str(error)) from None
            except KeyError as error:
                raise _damaged(path, number, f"it has no {error}") from None
            yield event


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except PermissionError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None


def _checked(line: bytes, asked: set[str]) -> Event:
    """Return the event on a line, checked for all that a resumed sweep needs of it.

    Args:
        line: The line.
        asked: Trials that were asked for so far; a new one is added.
    """
    event = json.loads(line)
    if not isinstance(event, dict):
        raise ValueError(f"it is a {type(event).__name__}, not an object")
    kind = event["event"]
    if kind in ("asked", "merged"):
        asked.add(Trial.from_json(event["trial"]).id)
    elif kind in ("report", "finished"):
        if event["trial_id"] not in asked:
            raise ValueError(f"trial {event['trial_id']!r} was never asked for")
        if kind == "report":
            Report.from_json(event["report"])
        else:
            TrialResult.from_json(event["result"])
    return event


def _damaged(path: Path, number: int, why: str) -> RunDirectoryError:
    return RunDirectoryError(
        f"{path}:{number} is damaged: {why}", "restore the line, or start a new run"
    )


def _cut_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("r+b") as file:
        # Else the next event would be written behind it, and make a damaged line with it.
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)
