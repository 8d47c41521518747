"""What is on the disk for good: synced files and folders."""

from __future__ import annotations

import errno
import os
from pathlib import Path


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
