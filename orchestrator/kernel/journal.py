"""The journal: the append-only file that every fact of a sweep is written to first.

One event a line; :mod:`orchestrator.kernel.events` has their kinds and their codec.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import DAMAGED, Asked, Event, Finished, Merged, decode, encode
from orchestrator.texts import bounded
from orchestrator.trial import TrialState

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
            OSError: It cannot be written.
        """
        self.path = path
        self.now = now
        if path.exists():  # the next event would make a damaged line of a torn one
            with path.open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def append(self, event: Event) -> Event:
        """Write an event with its time; return it with the time."""
        event = replace(event, at=round(self.now(), 3))
        line = encode(event) + b"\n"
        # To the kernel, which keeps it if this process is killed; close() waits for the disk.
        while line:
            line = line[os.write(self._fd, line) :]
        return event

    def close(self) -> None:
        """Write the file through to the disk and close it.

        Raises:
            OSError: That is not possible.
        """
        try:
            os.fsync(self._fd)
        finally:
            os.close(self._fd)


def read_journal(path: Path) -> Iterator[Event]:
    """Yield the events of a journal in order; drop a torn last line.

    Raises:
        FileNotFoundError: There is no journal at ``path``.
        RunDirectoryError: It cannot be read, or a line of it that is whole is damaged; names
            the line.
    """
    states: dict[str, TrialState | None] = {}
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # it is being written now, or its writer was killed within it
            try:
                event = decode(line)
                if event is not None:
                    _check(event, states)
            except DAMAGED as error:
                why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
                raise RunDirectoryError(
                    f"{path}:{number} is damaged: {bounded(why, _SHOWN)}",
                    "restore the line, or start a new run",
                ) from None
            if event is not None:
                yield event


def _check(event: Event, states: dict[str, TrialState | None]) -> None:
    """Check an event against the states of the trials before it, and note its own.

    Raises:
        ValueError: Its trial was never asked for, or has ended before.
    """
    if isinstance(event, Asked):
        states.setdefault(event.trial.id, None)
    trial_id = event.trial.id if isinstance(event, Merged) else getattr(event, "trial_id", None)
    if trial_id is not None and trial_id not in states:
        raise ValueError(f"trial {trial_id!r} was never asked for")
    if isinstance(event, Finished):
        if states[event.trial_id] not in (None, TrialState.NOT_RUN):
            raise ValueError(f"trial {event.trial_id!r} has ended before")
        states[event.trial_id] = event.result.state


def read_steps(path: Path) -> Iterator[Event]:
    """Yield the events of ``steps.jsonl`` in order; lines that are damaged are left out.

    They contain only the times of steps, by which a run is neither resumed nor judged.
    """
    with _opened(path) as file:
        for line in file:
            with suppress(*DAMAGED):
                if (event := decode(line)) is not None:
                    yield event


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except PermissionError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
