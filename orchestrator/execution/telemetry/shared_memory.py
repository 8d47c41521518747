"""Files in shared memory that the processes of a trial have made: its memory, and gone with it."""

import os
import stat
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

SHARED_MEMORY: Final = "/dev/shm"

Entry = tuple[str, int]
"""Path and inode of a file or a folder."""

_MOST: Final = 10_000
"""Most entries that a reading looks at: it takes some milliseconds."""


class SharedFiles:
    """New files, in new folders too, that a process of the trial wrote when they were first seen.

    Attributes:
        num_bytes: Their memory at the last reading.
    """

    def __init__(self) -> None:
        """Take what is there now as others'."""
        self._before = self._known = _entries()
        self._own: set[Entry] = set()
        self.num_bytes = 0

    def read(self, pids: Iterable[int]) -> None:
        """Look for new files of these processes; read the memory of all."""
        now = _entries(self._before)
        if new := now - self._known:
            self._known = self._known | new
            written = set(_written(pids))
            self._own |= {entry for entry in new if entry[0] in written}
        self._own &= now
        self.num_bytes = 0
        for path, _ in self._own:
            with suppress(OSError):
                self.num_bytes += Path(path).lstat().st_blocks * 512

    def remove(self) -> None:
        """Remove what is left of them."""
        above = {str(folder) for path, _ in self._own for folder in Path(path).parents}
        made = _entries(self._before) - self._before
        for path, inode in sorted(made, reverse=True):  # what is in a folder before the folder
            with suppress(OSError):
                if (path, inode) in self._own:
                    Path(path).unlink()
                elif path in above:
                    Path(path).rmdir()


def _entries(known: Set[Entry] | None = None) -> set[Entry]:
    """Return what is in shared memory, and in its folders but those ``known``, if these are given.

    A known folder may contain a data set of millions of files.
    """
    found, folders = set[Entry](), [SHARED_MEMORY]
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for each in islice(entries, _MOST - len(found)):
                found.add(entry := (each.path, each.inode()))
                if known is not None and entry not in known and each.is_dir(follow_symlinks=False):
                    folders.append(each.path)
    return found


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
