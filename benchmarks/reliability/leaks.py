"""Leaks of a command: processes, and files in the temporary folders."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "RELIABILITY_ROUND"
"""Environment variable of a command, which all that it starts inherits."""

GRACE_S = 15.0
"""How long what a command has started may take to end after it."""

LOOK_S = 0.2
"""How often processes are looked at, at most: all of the machine's are read for it."""

_SHARED = Path("/dev/shm")


class Witness:
    """Knows what belongs to a command, and afterwards what of it is still there."""

    def __init__(self, mark: str, folder: Path) -> None:
        """Begin before the command is started.

        Args:
            mark: Value of :data:`MARK` in its environment.
            folder: The command's folder for temporary files, for nothing else.
        """
        self._mark = mark
        self._folder = folder
        self._seen: dict[int, float] = {}
        self._looked_at = float("-inf")
        self._shared = set(_names_in(_SHARED))

    def look(self, pid: int) -> None:
        """Take note of all processes below one, now and then: some hide their environment later."""
        if time.monotonic() < self._looked_at + LOOK_S:
            return
        self._looked_at = time.monotonic()
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    self._seen[process.pid] = process.create_time()

    def left(self, grace_s: float = GRACE_S) -> list[str]:
        """Return what is there after a while, in words; its processes are killed then."""
        deadline = time.monotonic() + grace_s
        while (processes := self._processes()) or self._files():
            if time.monotonic() > deadline:
                break
            time.sleep(0.2)
        described = [f"process {each.pid}: {_command(each)[:200]}" for each in processes]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return described + self._files()

    def _processes(self) -> list[psutil.Process]:
        return [each for each in psutil.process_iter() if self._is_ours(each)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                return False
            is_known = self._seen.get(process.pid) == process.create_time()
            return is_known or process.environ().get(MARK) == self._mark
        except psutil.Error:
            return False

    def _files(self) -> list[str]:
        """Return new files that no living process has open: those of others' commands it has."""
        names = set(_names_in(_SHARED)) - self._shared
        new = {_SHARED / name for name in names if not self._is_of_others(name)}
        held = _mapped() if new else set()
        left = [path for path in new if str(path) not in held]
        # Torch makes its folder for compiled code, which all programs share, when it is imported.
        # The cache of who has no home is for later runs.
        others = ("ray", "torchinductor_", "sweep-cache-")
        left += [path for path in self._folder.iterdir() if not path.name.startswith(others)]
        return [f"file {path}" for path in sorted(left)]

    def _is_of_others(self, name: str) -> bool:
        """Return True for a file in shared memory that no process of the command can have made.

        That are a tensor of a process that is not ours, the folder of an MLflow server, which is
        empty at first, and a block of ``multiprocessing.shared_memory``.
        """
        if name.startswith("torch_"):
            return int(name.split("_")[1]) not in self._seen
        return name.startswith("psm_") or (name.startswith("tmp") and (_SHARED / name).is_dir())


def _names_in(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.iterdir())


def _mapped() -> set[str]:
    """Return the paths that processes have mapped or open below ``/dev/shm``."""
    paths: set[str] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            paths |= {each.path for each in process.memory_maps() if "/dev/shm" in each.path}
            paths |= {str(each.readlink()) for each in Path(f"/proc/{process.pid}/fd").iterdir()}
    return paths


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "gone since"
