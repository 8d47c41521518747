"""Files opened, unless they are none: a pipe, a device or a socket may be waited on for ever."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

_KINDS: Final = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link",
}  # fmt: skip


def require_regular(path: Path) -> None:
    """Check that a path is a file, or a link to one.

    Raises:
        OSError: There is nothing, or something else: a pipe, a socket, a device, a folder.
    """
    _require(path, path.stat().st_mode)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading.

    Raises:
        OSError: There is none, it cannot be read, or it is a pipe, a socket, a device or a folder.
    """
    require_regular(path)
    # Not blocking: what is a file now may be a pipe when it is opened.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _require(path, os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: As of :func:`open_regular`.
    """
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Return the text of a file, in UTF-8.

    Raises:
        OSError: As of :func:`open_regular`.
        UnicodeDecodeError: It is no such text.
    """
    return read_bytes(path).decode()


def require_plain(path: Path) -> None:
    """Check that a path is a file itself, and no link to one; or that nothing is there.

    Raises:
        OSError: It is a link, a pipe, a socket, a device or a folder.
    """
    with suppress(FileNotFoundError):
        _require(path, path.lstat().st_mode, "plain file")


def open_to_append(path: Path) -> BinaryIO:
    """Open a file for appending, which is made where there is none.

    Raises:
        OSError: It cannot be written, or is no plain file: as of :func:`require_plain`.
    """
    return os.fdopen(_opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")


def open_to_change(path: Path) -> BinaryIO:
    """Open a file for reading and writing.

    Raises:
        OSError: There is none, it cannot be written, or it is no plain file: as of
            :func:`require_plain`.
    """
    return os.fdopen(_opened(path, os.O_RDWR), "r+b")


def _opened(path: Path, flags: int) -> int:
    require_plain(path)
    # What is a file now may be a link or a pipe when it is opened.
    safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags | safe, 0o666)
    try:
        _require(path, os.fstat(descriptor).st_mode, "plain file")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _require(path: Path, mode: int, wanted: str = "file") -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a {wanted}", str(path))
