"""Files in shared memory that the processes of a trial have made: its memory, and gone with it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

SHARED_MEMORY: Final = "/dev/shm"


class SharedFiles:
    """Files that were not there before, and that a process of the trial wrote when first seen.

    Attributes:
        num_bytes: Their memory at the last reading.
    """

    def __init__(self) -> None:
        """Take what is there now as others'."""
        self._known = _files()
        self._own: set[tuple[str, int]] = set()
        self.num_bytes = 0

    def read(self, pids: Iterable[int]) -> None:
        """Look for new files of these processes; read the memory of all."""
        now = _files()
        if new := now - self._known:
            self._known |= new
            written = set(_written(pids))
            self._own |= {file for file in new if file[0] in written}
        self._own &= now
        self.num_bytes = 0
        for path, _ in self._own:
            with suppress(OSError):
                self.num_bytes += Path(path).lstat().st_blocks * 512

    def remove(self) -> None:
        """Remove what is left of them."""
        for path, _ in self._own & _files():
            with suppress(OSError):
                Path(path).unlink()


def _files() -> set[tuple[str, int]]:
    """Return path and inode of each file in shared memory."""
    with suppress(OSError), os.scandir(SHARED_MEMORY) as entries:
        return {(each.path, each.inode()) for each in entries if not each.is_dir()}
    return set()


def _written(pids: Iterable[int]) -> Iterator[str]:
    """Yield the paths of files that processes have open, or have mapped, for writing."""
    for process in (Path(f"/proc/{pid}") for pid in pids):
        with suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    if descriptor.lstat().st_mode & stat.S_IWUSR:
                        yield str(descriptor.readlink())
        with suppress(OSError):
            for line in (process / "maps").read_text().splitlines():
                _, how, *_, path = line.split()
                if how.startswith("rw"):
                    yield path
