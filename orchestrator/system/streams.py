"""Standard output and error that outlast their readers."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import BinaryIO, TextIO, cast

_NO_READER = (errno.EPIPE, errno.EIO)
"""Errors of a pipe without a reader and of a terminal that was closed."""


def outlast_readers() -> None:
    """Discard output once its reader has gone, as ``head`` does, instead of failing.

    A sweep of hours is worth more than its lines.
    """
    sys.stdout = _outlasting(sys.stdout)
    sys.stderr = _outlasting(sys.stderr)


def _outlasting(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # a notebook's, say
    # Else what the old wrapper still holds would come after newer lines.
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
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _File(io.FileIO):
    def write(self, data: object) -> int:
        """Write; replace the file by the null device once there is no reader."""
        try:
            return super().write(data)  # type: ignore[arg-type] # a buffer, as FileIO takes it
        except OSError as error:
            if error.errno not in _NO_READER:
                raise
        # The descriptor itself is replaced, for whatever else in this process writes to it.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        return memoryview(data).nbytes  # type: ignore[arg-type]
