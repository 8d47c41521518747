"""The journal: the append-only file that every fact of a sweep is written to first.

One JSON object a line. Each has ``at`` (Unix time) and ``event``:

==========  ===============================================================
event       further keys
==========  ===============================================================
sweep       ``sweep``: what ``sweep.json`` holds; the first line
resumed     ``sweep``: the same, of the process that went on
asked       ``trial``: :meth:`Trial.to_json`
started     ``trial_id``, ``node``, ``cores``, and ``went_on_from`` where a checkpoint has
            kept epochs
report      ``trial_id``, ``report``: :meth:`Report.to_json`
finished    ``trial_id``, ``result``: :meth:`TrialResult.to_json`
merged      ``trial``: asked for again; the row that has its id is the answer
waiting     ``trial_id``, ``seconds``, ``what``: it could not start yet
note        ``text``: something the user should know, said once
ended       ``exit_code``
==========  ===============================================================

A trial that was asked for and has no ``finished`` line was interrupted; on resume it
runs again under the same id, so reports before its last ``started`` line are void, but
those of the epochs that it ``went_on_from``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

JOURNAL_NAME = "journal.jsonl"
STEPS_NAME = "steps.jsonl"
"""The times of steps, written likewise beside the journal; see ``step_log``."""

Event = dict[str, Any]


class Journal:
    """Appends events to a file and flushes each before returning.

    A process that is killed at any moment loses at most the line it was writing.
    """

    def __init__(self, path: Path) -> None:
        """Opens ``path`` for appending; a torn last line is cut off first."""
        self.path = path
        _cut_torn_line(path)
        self._file = path.open("ab")

    def append(self, event: str, **content: Any) -> Event:  # noqa: ANN401 - plain JSON values
        """Writes one event and returns it as a reader would see it."""
        line: Event = {"at": round(time.time(), 3), "event": event, **content}
        self._file.write(json.dumps(line, separators=(",", ":"), default=str).encode() + b"\n")
        self._file.flush()
        return line

    def close(self) -> None:
        """Writes the file through to the disk and closes it."""
        os.fsync(self._file.fileno())
        self._file.close()


def read_journal(path: Path) -> Iterator[Event]:
    """Yields the events of a journal in order; a torn last line is dropped.

    Raises:
        FileNotFoundError: There is no journal at ``path``.
    """
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            event: Mapping[str, Any] = json.loads(line)
            yield dict(event)


def _cut_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("r+b") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)
