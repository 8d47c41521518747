"""Lock files that other users can open too."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


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
