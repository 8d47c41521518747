"""Lock files, opened so that a link or a pipe in their place neither leads elsewhere nor blocks."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def open_lock(
    path: str | Path, *, writable: bool = False, folder: int | None = None, mode: int = 0o644
) -> int:
    """Return a descriptor to lock by, of a file that is created where there is none.

    Permission to read suffices, on another user's file too. A file is created apart from opening
    it: where ``fs.protected_regular`` is set, the kernel refuses to open another user's file in a
    sticky folder with ``O_CREAT``, even if it exists.

    A lock file is removed by who holds it alone, and one that takes it looks whether it was removed
    meanwhile: else it would hold a lock that others, with a new file of the same name, do not see.

    Args:
        path: The file.
        writable: True to write to it as well.
        folder: Descriptor of the folder that ``path`` is relative to.
        mode: Mode of a file that is created, whatever the umask is.

    Raises:
        OSError: It cannot be opened, or is no plain file: a link, a pipe, a device.
    """
    access = os.O_RDWR if writable else os.O_RDONLY
    # O_NONBLOCK: a pipe without a writer would be waited for.
    flags = access | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    try:
        descriptor = _opened(path, flags, folder, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _no_plain_file(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_plain_file(path)
    return descriptor


def _opened(path: str | Path, flags: int, folder: int | None, mode: int) -> int:
    while True:
        with suppress(FileNotFoundError):
            return os.open(path, flags, dir_fd=folder)
        with suppress(FileExistsError):  # created by another process in the meantime
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode, dir_fd=folder)
            os.fchmod(descriptor, mode)
            return descriptor


def _no_plain_file(path: str | Path) -> OSError:
    return OSError(errno.EINVAL, "not a plain file, as a lock has to be", str(path))
