"""A disk that forgets what was not synced, and the system calls of the process that writes to it.

Files and folders are real ones below ``root``, as the system's cache has them. What survives a
power cut is recorded here: each file's synced bytes, each folder's synced names, by inode. So
``root`` is on a file system that gives no inode's number to another file: ``/dev/shm``.
"""

import errno
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any
from unittest.mock import patch

PAGE = 4096
CALLS = ("open", "write", "fsync", "ftruncate", "replace", "rename", "mkdir", "close")


class Died(BaseException):
    """The process has ended at once: its later calls have no effect."""


@dataclass(frozen=True)
class Fault:
    """A fault at a step of a process, a system call or one of the executor, from 1 on.

    Kinds: ``kill``, ``cut`` (of the power), ``eio``, ``enospc`` (once), ``full`` (from then on),
    ``interrupt``, ``jump`` (of the clock).
    """

    kind: str
    step: int

    @property
    def is_error(self) -> bool:
        return self.kind in ("eio", "enospc", "full")


class Disk:
    """See the module."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.root, self._rng = root, rng
        self._synced: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._lost: dict[int, tuple[int, int]] = {}
        self._open: dict[int, str] = {}
        self._within = f"{root}/"
        self.keep()

    # -- a process

    @contextmanager
    def process(self, fault: Fault | None, **acts: Callable[[], None]) -> Iterator[None]:
        """Act as the disk of a process; at the fault's step apply the fault, or call its act."""
        self.fault, self.acts, self.num_steps, self.is_dead = fault, acts, 0, False
        calls: dict[str, Any] = {name: self._call(name, getattr(os, name)) for name in CALLS}
        try:
            with patch.multiple(os, **calls):
                yield
        finally:
            for number in self._open:
                os.close(number)
            self._open.clear()
            if self.is_dead and fault is not None and fault.kind == "cut":
                self.cut()

    def step(self) -> Fault | None:
        """Count a step; return the fault that happens at it, if any, or raise ``Died``."""
        if self.is_dead:
            raise Died
        self.num_steps += 1
        fault = self.fault
        is_full = fault is not None and fault.kind == "full" and self.num_steps >= fault.step
        if fault is None or (self.num_steps != fault.step and not is_full):
            return None
        if fault.kind in self.acts:
            self.acts[fault.kind]()
        if fault.kind in ("kill", "cut"):
            self.is_dead = True
            raise Died
        return fault

    def _call(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(target: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - any call's
            path = self._open.get(target) if isinstance(target, int) else os.fspath(target)
            if name == "close":
                self._open.pop(target, None)
            if name == "close" or path is None or not f"{path}/".startswith(self._within):
                return real(target, *given, **named)
            was_dead = self.is_dead
            try:
                fault = self.step()
            except Died:
                if name == "write" and not was_dead:
                    real(target, given[0][: self._rng.randint(0, len(given[0]))])
                raise
            if fault is not None and fault.is_error:
                if name == "write" and fault.kind != "eio":
                    real(target, given[0][: self._rng.randint(0, len(given[0]) - 1)])
                elif name == "fsync" and S_ISREG((now := os.fstat(target)).st_mode):
                    # The system drops what it could not write, and never tries again.
                    self._lost[now.st_ino] = (len(self._synced.get(now.st_ino, b"")), now.st_size)
                number = errno.EIO if fault.kind == "eio" else errno.ENOSPC
                raise OSError(number, os.strerror(number), None if target in self._open else path)
            done = real(target, *given, **named)
            if name == "open":
                self._open[done] = path
            elif name == "fsync":
                self._sync(path, os.fstat(target))
            elif name == "ftruncate":
                self._lost.pop(os.fstat(target).st_ino, None)
            return done

        return call

    # -- what is on the disk

    def _sync(self, path: str | Path, about: os.stat_result) -> None:
        if S_ISDIR(about.st_mode):
            self._names[about.st_ino] = {each.name: each.inode() for each in os.scandir(path)}
        else:
            with open(path, "rb") as file:  # noqa: PTH123 - a tenth of the time otherwise
                self._synced[about.st_ino] = self._kept(about.st_ino, file.read())

    def _kept(self, ino: int, content: bytes) -> bytes:
        first, end = self._lost.get(ino, (0, 0))
        return content[:first] + bytes(min(end, len(content)) - first) + content[end:]

    def keep(self, folder: Path | None = None) -> None:
        """Take everything as synced, or what is below a folder."""
        folder = folder or self.root
        self._sync(folder, folder.stat())
        for each in folder.iterdir():
            if each.is_dir():
                self.keep(each)
            else:
                self._sync(each, each.stat())

    def cut(self) -> None:
        """Cut the power: leave what was synced, and by chance some of the rest."""
        left = self._left(self.root, self.root.stat().st_ino)
        for each in self.root.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        self._write(self.root, left)
        self._synced, self._names, self._lost = {}, {}, {}
        self.keep()

    def _left(self, folder: Path | None, ino: int) -> dict[str, Any]:
        synced = self._names.get(ino, {})
        now = {each.name: each for each in os.scandir(folder)} if folder is not None else {}
        left: dict[str, Any] = {}
        for name in sorted(synced.keys() | now.keys()):
            then, entry = synced.get(name), now.get(name)
            if entry is not None and (entry.inode() == then or self._rng.random() < 0.5):
                of = self._left if entry.is_dir() else self._torn
                left[name] = of(Path(entry.path), entry.inode())
            elif then is not None:
                is_folder = then in self._names
                left[name] = self._left(None, then) if is_folder else self._synced.get(then, b"")
        return left

    def _torn(self, path: Path, ino: int) -> bytes:
        """Return what is left of a file's content: more than was synced, perhaps with holes."""
        rng, synced, now = self._rng, self._synced.get(ino, b""), self._kept(ino, path.read_bytes())
        if not now.startswith(synced):
            return rng.choice([synced, now])
        size, how = rng.randint(len(synced), len(now)), rng.random()
        if how < 0.6:
            return now[:size]
        if how < 0.8:  # its length was written, the rest was not
            return now[:size] + bytes(rng.randint(0, len(now) - size))
        first = -(-len(synced) // PAGE) * PAGE  # a later page was written, this one was not
        return now[:first] + bytes(len(now[first : first + PAGE])) + now[first + PAGE :]

    def _write(self, folder: Path, left: dict[str, Any]) -> None:
        for name, content in left.items():
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
            else:
                (folder / name).mkdir()
                self._write(folder / name, content)
