"""Downloads that appear under their name only when they are complete."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import DataError

_NETWORK_TIMEOUT_S = 60.0


@contextmanager
def arriving(name: str, root: Path) -> Iterator[Path]:
    """A folder within ``root`` to download to, gone after the block; a silent network ends.

    Args:
        name: Data set, for messages.
        root: Folder of data sets; created if it is missing.

    Raises:
        DataError: ``root`` cannot be written, or the block raised an ``OSError`` (all that
            urllib raises is one), or a ``RuntimeError`` (which libraries make of them).
    """
    folder = root / f".{name}.part"
    timeout_s = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_NETWORK_TIMEOUT_S)
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield folder
    except (OSError, RuntimeError) as error:
        raise DataError(
            f"{name} cannot be downloaded to {root}: {' '.join(str(error).split())}",
            "get it some other way and say where it is with --data-root",
        ) from error
    finally:
        socket.setdefaulttimeout(timeout_s)
        shutil.rmtree(folder, ignore_errors=True)
