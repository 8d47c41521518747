"""Standard input, output and error that outlast whoever is at their other end."""

from __future__ import annotations

import codecs
import errno
import io
import locale
import os
import select
import sys
from contextlib import suppress
from typing import BinaryIO, Final, TextIO, cast

_NO_READER: Final = (errno.EPIPE, errno.EIO)
"""Errors of a pipe without a reader and of a terminal that was closed."""
_READ_WITHIN_MS: Final = 1000
"""Time within which a reader takes something, or it is no reader."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)
"""Errors of a file that takes no more, or that was opened for reading; later it may again."""


def outlast_readers() -> None:
    """Discard output that goes nowhere, instead of failing: its reader has gone, as ``head`` does.

    A sweep of hours is worth more than its lines. So too where a stream is closed, its disk is
    full, or its encoding has no such character.
    """
    _open_all()
    if sys.stdin is None:  # libraries ask it whether it is a terminal
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = _outlasting(sys.stdout, 1)
    sys.stderr = _outlasting(sys.stderr, 2)


def require_written(stream: TextIO) -> None:
    """Check that all that was written to a stream is in its file; a reader that left is no matter.

    Raises:
        OSError: Some of it was discarded: the disk is full, say.
    """
    stream.flush()
    binary = getattr(stream, "buffer", None)
    file = getattr(binary, "raw", binary)
    if isinstance(file, _File) and (lost := file.lost) is not None:
        raise OSError(lost.errno, lost.strerror)


def drop_what_nobody_reads() -> None:
    """Discard from here on what goes to a pipe or terminal that is full, and is not read.

    Its reader is a pager that waits, say. Without it a program that is to end would wait as well:
    also a write that a signal has interrupted is begun again, and is then discarded.
    """
    for number in (1, 2):
        poll = select.poll()
        with suppress(OSError):
            poll.register(number, select.POLLOUT)
            if not poll.poll(_READ_WITHIN_MS):
                _discard(number)


def _discard(number: int) -> None:
    """Put the null device in the place of a descriptor, for all that writes to it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _open_all() -> None:
    """Open streams that are closed: the next file would have their number, and their output."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # the lowest number that is free is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _outlasting(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed
        return os.fdopen(number, "w", encoding="utf-8", closefd=False)
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # a notebook's, say
    # Else what the old wrapper still holds would come after newer lines.
    with suppress(OSError):
        stream.flush()
    try:
        number = stream.fileno()
    except io.UnsupportedOperation:
        return stream  # text that is kept in memory
    # The descriptor stays open: the old stream lives on as sys.__stdout__.
    file = _File(number, "w", closefd=False)
    is_unbuffered = isinstance(stream.buffer, io.RawIOBase)
    return io.TextIOWrapper(
        cast("BinaryIO", file if is_unbuffered else io.BufferedWriter(file)),
        encoding=stream.encoding,
        errors="backslashreplace" if stream.errors == "strict" else stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _File(io.FileIO):
    lost: OSError | None = None
    """Why output was discarded that may have a reader."""

    def write(self, data: object) -> int:
        """Write; replace the file by the null device once there is no reader."""
        try:
            return super().write(data)  # type: ignore[arg-type] # a buffer, as FileIO takes it
        except OSError as error:
            if error.errno in _NO_READER:
                _discard(self.fileno())
            elif error.errno in _NO_ROOM:
                self.lost = error
            else:
                raise
        return memoryview(data).nbytes  # type: ignore[arg-type]


_VARIABLE: Final = "PYTHONUTF8"


def begin_in_utf8() -> None:
    """Begin this program again in Python's UTF-8 mode (PEP 540) where the locale has no UTF-8.

    Else files, lines and names would have the locale's encoding, which may lack a character of the
    report's. Processes that are started afterwards inherit the mode.
    """
    is_utf8 = codecs.lookup(locale.getencoding()).name == "utf-8"
    if is_utf8 or sys.flags.utf8_mode or os.environ.get(_VARIABLE) == "1":
        return
    os.environ[_VARIABLE] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
