"""Files that are written: a link or a pipe that another user has put in their place is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Final

_SAFE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""A link is not followed, and a pipe without a reader not waited for."""


def open_to_append(path: Path) -> BinaryIO:
    """Open a file for appending, which is made where there is none.

    Raises:
        OSError: It cannot be written, or is a link.
    """
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFE, 0o666), "ab")


def open_to_change(path: Path) -> BinaryIO:
    """Open a file for reading and writing.

    Raises:
        OSError: There is none, it cannot be written, or it is a link.
    """
    return os.fdopen(os.open(path, os.O_RDWR | _SAFE), "r+b")
