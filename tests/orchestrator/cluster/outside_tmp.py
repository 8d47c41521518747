"""Folders outside ``/tmp``, and processes on them, of tests that may be killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PLACE: Final = Path("/var/tmp")

WITH_TESTS: Final = ("setpriv", "--pdeathsig", "KILL")
"""Begins a command that the kernel kills when the tests end, however they end."""


@contextmanager
def folder_outside_tmp(prefix: str) -> Iterator[Path]:
    """Make a folder, and remove those with this prefix whose tests were killed.

    Its descriptor is locked as long as the tests live.
    """
    for old in PLACE.glob(f"{prefix}*"):
        if not _is_locked(old):
            shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=PLACE))
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _is_locked(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
