"""The folder of all that a run leaves outside its run directory: private, its path short."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from orchestrator.errors import SweepError

PREFIX: Final = "sweep-"

_SOCKET_BYTES: Final = 107
"""Longest path of a Unix socket, ``unix(7)``."""
_BELOW_BYTES: Final = 40
"""Room below the folder, for sockets of fork servers, of Ray and of loader workers."""


def private_folder() -> tuple[Path, str]:
    """Make a folder of mode 0700, in the usual place for temporary files if sockets fit there.

    Returns:
        The folder, and a note for the user where it is not in that place.

    Raises:
        SweepError: There is no place where it can be made.
    """
    refused = ""
    for place in dict.fromkeys([_usual_place(), *_other_places()]):
        if unfit := _unfit(place):
            refused = refused or f"{place} {unfit}"
            continue
        try:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        except OSError as error:
            refused = refused or f"{place}: {error.strerror or error}"
        else:
            return (
                folder,
                f"temporary files of this run are in {folder}: {refused}" if refused else "",
            )
    most = _SOCKET_BYTES - _BELOW_BYTES - len(PREFIX) - 9
    raise SweepError(
        f"no place for temporary files: {refused}",
        f"set TMPDIR to a folder that can be written, its path of at most {most} characters",
    )


def room_for_sockets(folder: Path) -> dict[str, str]:
    """Return the environment in which a process's own sockets fit, as of loader workers.

    Python's ``multiprocessing`` makes them in ``TMPDIR``; with too long a path workers hang.

    Args:
        folder: Takes the place of a ``TMPDIR`` that is too long.
    """
    longest = len(os.fsencode(_usual_place())) + len("/pymp-12345678/listener-12345678")
    return {} if longest <= _SOCKET_BYTES else {"TMPDIR": str(folder)}


def make_private(folder: Path) -> None:
    """Make a folder of mode 0700 where there is none, its parents included.

    Raises:
        OSError: It cannot be made, or lies there already and is not this user's alone.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    is_own = found.st_uid == os.geteuid() and not found.st_mode & 0o077
    if not (stat.S_ISDIR(found.st_mode) and is_own):
        raise PermissionError(errno.EPERM, "not a folder of this user alone", str(folder))


def _usual_place() -> Path:
    # Not gettempdir(): where it finds nothing else it takes the current folder, unasked.
    named = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")
    return Path(named).absolute()


def _other_places() -> Iterator[Path]:
    yield Path("/tmp")
    if named := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(named)
    yield from (Path("/var/tmp"), Path("/dev/shm"))


def _unfit(place: Path) -> str:
    """Return why nothing can be made at a place; empty where it can."""
    longest = len(os.fsencode(place)) + len(f"/{PREFIX}") + 8 + _BELOW_BYTES
    if longest > _SOCKET_BYTES:
        return "is too long for the sockets in it"
    return "" if str(place).isascii() else "is not ASCII, as Ray needs it"
