"""Standard output that outlasts its reader."""

import errno
import io
import os
import sys
from typing import Final, TextIO

_NO_READER: Final = (errno.EPIPE, errno.EIO)
"""Errors of a pipe without a reader and of a terminal that was closed."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk, which may have room again later."""


def outlast_readers() -> None:
    """Discard output without a reader, or for a full disk, instead of failing.

    A sweep of hours is worth more than its lines. A character that the encoding lacks is escaped.
    """
    sys.stdout = _outlasting(sys.stdout)
    sys.stderr = _outlasting(sys.stderr)


def require_written(stream: TextIO) -> None:
    """Check that all that was written to a stream is in its file; a reader may have gone.

    Raises:
        OSError: Some of it was discarded, since the disk is full.
    """
    stream.flush()
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    if (lost := getattr(raw, "lost", None)) is not None:
        raise OSError(lost.errno, lost.strerror)


def _outlasting(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # a notebook's, or closed
    try:
        number = stream.fileno()
    except io.UnsupportedOperation:  # text that is kept in memory
        return stream
    stream.flush()  # else it would come after newer lines
    # The descriptor stays open: the old stream lives on as sys.__stdout__.
    return io.TextIOWrapper(
        io.BufferedWriter(_File(number, "w", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace" if stream.errors == "strict" else stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )


class _File(io.FileIO):
    lost: OSError | None = None
    """Error of a full disk for which output was discarded."""

    def write(self, data: object) -> int:
        """Write; replace the file by the null device once there is no reader."""
        try:
            return super().write(data)  # type: ignore[arg-type] # a buffer, as FileIO takes it
        except OSError as error:
            if error.errno in _NO_READER:
                # The null device takes the descriptor's place, for all that writes to it.
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.fileno())
                os.close(nowhere)
            elif error.errno in _NO_ROOM:
                self.lost = error
            else:
                raise
        return memoryview(data).nbytes  # type: ignore[arg-type]
