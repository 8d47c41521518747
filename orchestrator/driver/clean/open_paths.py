"""Files and folders that processes of this machine have open, read from ``/proc``, ``proc(5)``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def users_of(folders: Sequence[Path]) -> dict[Path, int]:
    """Return a process that uses it for each of the folders that is in use.

    A process uses a folder that is named on its command line, is its working directory, or holds
    a file that it has open or mapped. Processes of other users are not seen, except by root.
    """
    found: dict[Path, int] = {}
    wanted = {str(folder): folder for folder in folders}
    for process in _PROC.iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        for text in _texts(process):
            for name, folder in wanted.items():
                if folder not in found and _names(text, name):
                    found[folder] = int(process.name)
    return found


def _names(text: str, folder: str) -> bool:
    """Return True if a text has the path of the folder or of something in it."""
    _, is_there, rest = text.partition(folder)
    return bool(is_there) and (not rest or rest[0] in "/ \0\n:,")


def _texts(process: Path) -> Iterator[str]:
    """Yield whatever may name a folder: links to open files, the command line, mapped files."""
    for place in (process / "cwd", process / "fd"):
        with suppress(OSError):
            for link in place.iterdir() if place.name == "fd" else (place,):
                with suppress(OSError):
                    yield str(link.readlink())
    for name in ("cmdline", "maps"):
        with suppress(OSError):
            yield (process / name).read_text(errors="replace")
