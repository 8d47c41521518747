"""CPU time of the sweep's own driver, Ray and servers, where they share cores with trials.

On a node where no core is kept for them they run on the trials' cores. That is the same for
every trial and not the work of strangers.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from orchestrator.system.processes import children_of, cpu_s_of

_SERVER = b"orchestrator.execution.process.forkserver"
_OURS = (_SERVER, b"orchestrator.tracking", b"/ray/", b"ray::")
"""What stands in the command lines of fork servers, of the mirror to MLflow, and of Ray."""

_LOOK_AGAIN_S, _AT_FIRST_S = 5.0, 0.4
"""How often its processes are looked for: some start beside a sweep's first trials."""


class OwnOverhead:
    """The processes that run a sweep on this node, without its trials."""

    def __init__(self, root: int | None = None) -> None:
        """Finds them below ``root``, by default below the driver or the node's Ray."""
        self._root = root or _root()
        self._members: dict[int, bool] = {}
        self._found_s = float("-inf")
        self._again_s = _AT_FIRST_S / 2
        self._cpu_s = 0.0

    def cpu_s(self) -> float:
        """CPU time that they have used so far; it never goes down."""
        if time.monotonic() > self._found_s + self._again_s:
            self._found_s = time.monotonic()
            self._again_s = min(2 * self._again_s, _LOOK_AGAIN_S)
            self._members = _members(self._root)
        total = 0.0
        for pid, with_ended in self._members.items():
            with suppress(OSError, ValueError, IndexError):
                total += cpu_s_of(pid, with_ended=with_ended)
        self._cpu_s = max(self._cpu_s, total)
        return self._cpu_s


@cache
def _root() -> int:
    """The driver, which a local Ray is a child of; Ray itself where it was there before."""
    with suppress(psutil.Error):
        for process in psutil.Process().parents():
            if process.name() == "raylet":
                return process.ppid() if process.ppid() > 1 else process.pid
    return os.getpid()


def _members(root: int) -> dict[int, bool]:
    """Processes, and whether what their children used counts once these have ended.

    A fork server's children are trials: neither they nor what they used belongs to the house.
    Nor does anything else that the driver may have started.
    """
    found = {root: True}
    waiting = [root]
    while waiting:
        for child in children_of(waiting.pop()):
            command = _command(child)
            if child in found or not any(mark in command for mark in _OURS):
                continue
            is_server = _SERVER in command
            found[child] = not is_server
            waiting += [] if is_server else [child]
    return found


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
