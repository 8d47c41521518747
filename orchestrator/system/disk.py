"""Files: synced for good; private folders with short paths; lock files for all users."""

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from orchestrator.errors import SweepError

PREFIX: Final = "sweep-"

_MOST_BYTES: Final = 52
"""Longest path with room below it for the sockets of fork servers and of Ray, whose paths have at
most 107 bytes, ``unix(7)``."""


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk.

    Raises:
        OSError: That is not possible; it names ``path``.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of folders on some network file systems
            error.filename = str(path)
            raise
    finally:
        os.close(descriptor)


def private_folder() -> Path:
    """Make a folder of mode 0700 in ``TMPDIR``; in ``/tmp`` if no socket would fit there.

    Raises:
        SweepError: It cannot be made.
    """
    place = Path(os.environ.get("TMPDIR") or "/tmp").absolute()
    if len(os.fsencode(place)) > _MOST_BYTES:
        place = Path("/tmp")
    try:
        return Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    except OSError as error:
        raise SweepError(
            f"no place for temporary files: {place}: {error.strerror or error}",
            "set TMPDIR to a folder that can be written",
        ) from None


def open_lock(path: Path) -> int:
    """Return a descriptor to lock by, of a file that is created with mode 0644 if it is absent.

    Permission to read suffices. The file is created apart from opening it: where
    ``fs.protected_regular`` is set, the kernel refuses ``O_CREAT`` on another user's file in a
    sticky folder, even if the file exists.

    Raises:
        OSError: It cannot be opened.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC
    with suppress(FileExistsError):
        if not path.exists():
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
            os.fchmod(descriptor, 0o644)  # whatever the umask is
            return descriptor
    return os.open(path, flags)
