"""The journal: the append-only file that every fact of a sweep is written to first.

One event a line; :mod:`orchestrator.kernel.events` has their kinds and their codec. Of a trial that
reports all the time one report each half second is kept.
"""

import errno
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

import msgspec

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel import events
from orchestrator.kernel.events import DAMAGED, Event, Reported, decode, encode
from orchestrator.system.disk import sync
from orchestrator.texts import bounded
from orchestrator.trial import BlockRow

GROUP_S: Final = 0.25
"""Least time between two syncs: ends of trials within it are synced together, s."""

_SHARE, _MOST_S = 100, 1.0
"""A sync comes no sooner than so many times as long as the last one took, or so many seconds."""

LOOK_S: Final = 30.0
"""Time between two looks whether the folder can still be written; a trial may report nothing, s."""

_SYNCED: Final = (events.Opened, events.Finished, events.Judged)
"""Events that are synced; those between them are, with the next one."""

MOST_REPORTS: Final = 200
"""First reports of a trial that are all kept."""
EVERY_S: Final = 0.5
"""Time of a trial of which the first report is kept, s; the first of each epoch is kept as well."""
THINNED: Final = (
    f"a trial reports all the time: after {MOST_REPORTS} reports one an epoch and one each "
    f"{EVERY_S:g} s is kept"
)

_SHOWN: Final = 300
"""Characters of the reason that are shown."""

_CHECKED: Final = re.compile(rb',"line":(\d+),"crc":"([0-9a-f]{8})"\}\n\Z')
"""End of a line: its number, and the checksum of all before ``,"line"``."""


class Journal:
    """A file that events are appended to, each written before the call returns.

    A process that is killed at any moment loses at most the line it was writing. A power cut loses
    no trial's end that is older than two seconds: ends are synced, in groups.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        """Open ``path`` for appending; cut off a torn end first.

        Args:
            path: The file.
            now: Unix time of an event.

        Raises:
            OSError: It cannot be written.
        """
        self.path = path
        self.now = now
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        with os.fdopen(self._fd, "rb", closefd=False) as file:
            sizes = [len(line) for line in _whole_lines(file)]
        self._num_lines = len(sizes)
        self._is_due, self._sync_from, self._look_from = False, float("-inf"), float("-inf")
        with self._naming():
            # The next event would make a damaged line of a torn one.
            os.ftruncate(self._fd, sum(sizes))
            self._synced = sum(sizes), self._num_lines
            self._sync()
            sync(path.parent)

    def append(self, event: Event) -> Event:
        """Write an event with its time; return it with the time."""
        event = replace(event, at=round(self.now(), 3))
        body = encode(event).removesuffix(b"}")
        line = b'%b,"line":%d,"crc":"%08x"}\n' % (body, self._num_lines + 1, crc32(body))
        with self._naming():
            end = os.fstat(self._fd).st_size
            try:
                while line:
                    line = line[os.write(self._fd, line) :]
            except OSError:
                os.ftruncate(self._fd, end)
                raise
        self._num_lines += 1
        self._is_due |= isinstance(event, _SYNCED)
        self.sync_ends()
        return event

    def sync_ends(self) -> None:
        """Write ends of trials through to the disk, if there are any and it is time again.

        Raises:
            OSError: That is not possible, or nothing could be written any more.
        """
        began = time.monotonic()
        if began >= self._look_from:
            self._look_from = began + LOOK_S
            if not os.access(folder := self.path.parent, os.W_OK):
                raise OSError(errno.EROFS, "cannot be written any more", str(folder))
        if not self._is_due or began < self._sync_from:
            return
        with self._naming():
            self._sync()
        ended = time.monotonic()
        self._sync_from = ended + max(GROUP_S, min(_SHARE * (ended - began), _MOST_S))

    def _sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError:
            # The system forgets what it could not write, and would call the next sync a success.
            size, self._num_lines = self._synced
            os.ftruncate(self._fd, size)
            raise
        self._synced = os.fstat(self._fd).st_size, self._num_lines
        self._is_due = False

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = str(self.path)
            raise

    def close(self) -> None:
        """Write the file through to the disk and close it.

        Raises:
            OSError: That is not possible.
        """
        try:
            with self._naming():
                self._sync()
        finally:
            os.close(self._fd)


def read_journal(path: Path) -> Iterator[Event]:
    """Yield the events of a journal in order, its reports thinned; drop a torn last line.

    Raises:
        FileNotFoundError: There is no journal at ``path``.
        RunDirectoryError: It cannot be read, or a line of it that is whole is damaged; names
            the line.
    """
    is_checked, thinner = False, Thinner()
    with _opened(path) as file:
        for number, line in enumerate(_whole_lines(file), start=1):
            try:
                is_checked = _check_line(line, number, needs=is_checked)
                event = decode(line) if _is_kept(line, thinner) else None
            except DAMAGED as error:
                why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
                raise RunDirectoryError(
                    f"{path}:{number} is damaged: {bounded(why, _SHOWN)}",
                    "restore the line, or start a new run",
                ) from None
            if isinstance(event, events.Started):
                thinner.restart(event.trial_id)
            if event is not None:
                yield event


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines up to a torn one: being written now, or its writer was killed, or the power cut.

    What a file system had not written at a power cut may be zeros, which no line contains.
    """
    for line in file:
        if not line.endswith(b"\n") or b"\0" in line:
            return
        yield line


def _check_line(line: bytes, number: int, *, needs: bool) -> bool:
    """Check a line's number and checksum; return True if it has them.

    Lines of an earlier version have none, and come before those that have.

    Raises:
        ValueError: One of them is another, or missing though the line ``needs`` them.
    """
    if (found := _CHECKED.search(line)) is None:
        if needs:
            raise ValueError("it has no checksum, unlike the lines before it")
        return False
    if f"{crc32(line[: found.start()]):08x}" != found[2].decode():
        raise ValueError("its checksum is that of another line")
    if int(found[1]) != number:
        raise ValueError(f"it was line {int(found[1])}: lines before it were taken out or added")
    return True


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


# -- reports that are left out


@dataclass
class _Flow:
    """The reports of a trial: their number, the last one kept, times of steps of those since."""

    num: int = 0
    epoch: int = 0
    elapsed_s: float = 0.0
    blocks: Sequence[BlockRow] = ()


class Thinner:
    """Decides which reports are kept; the same reports in the same order give the same."""

    def __init__(self) -> None:
        self._flows: defaultdict[str, _Flow] = defaultdict(_Flow)

    def restart(self, trial_id: str) -> None:
        """Begin anew: another process of the trial has started."""
        self._flows.pop(trial_id, None)

    def take(self, event: Reported) -> Reported | None:
        """Take a report; return it, with the times of steps of those before, or None."""
        report, flow = event.report, self._flows[event.trial_id]
        before, flow.blocks = flow.blocks, (*flow.blocks, *report.blocks)
        if not self.keeps(event.trial_id, report.epoch, report.elapsed_s):
            return None
        blocks, flow.blocks = flow.blocks, ()
        return replace(event, report=replace(report, blocks=blocks)) if before else event

    def keeps(self, trial_id: str, epoch: int, elapsed_s: float) -> bool:
        """Return True if the next report of a trial is kept."""
        flow = self._flows[trial_id]
        flow.num += 1
        since_s = elapsed_s - flow.elapsed_s
        if flow.num > MOST_REPORTS and epoch == flow.epoch and 0 <= since_s < EVERY_S:
            return False
        flow.epoch, flow.elapsed_s = epoch, elapsed_s
        return True


class _ReportHead(msgspec.Struct):
    epoch: int = 0
    elapsed_s: float = 0.0


class _Head(msgspec.Struct):
    trial_id: str = ""
    report: _ReportHead | None = None


_HEAD: Final = msgspec.json.Decoder(_Head)
"""Reads what decides whether a report is kept, in a twentieth of the time of the whole line."""


def _is_kept(line: bytes, thinner: Thinner) -> bool:
    with suppress(msgspec.DecodeError):  # one with a figure that is not finite is kept
        if (head := _HEAD.decode(line)).report is not None:
            return thinner.keeps(head.trial_id, head.report.epoch, head.report.elapsed_s)
    return True
