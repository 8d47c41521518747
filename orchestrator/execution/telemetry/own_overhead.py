"""Own overhead: CPU time of the sweep's driver, Ray and servers on the cores of trials.

On a node where no core is kept for them they run on the trials' cores. That costs every trial
the same, and is no contamination by other users' load.
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
_OWN = (_SERVER, b"orchestrator.tracking", b"/ray/", b"ray::")
"""Parts of the command lines of fork servers, of the mirror to MLflow, and of Ray."""

_SEARCH_PERIOD_S, _FIRST_PERIOD_S = 5.0, 0.4
"""Period of the search for processes, later and at first: some start during a sweep's first
trials."""


class OwnOverhead:
    """CPU time of the processes that run a sweep on this node, without its trials."""

    def __init__(self, root: int | None = None) -> None:
        """Count processes below ``root``, by default below the driver or the node's Ray."""
        self._root = root or _root()
        self._members: dict[int, bool] = {}
        self._searched_s = float("-inf")
        self._period_s = _FIRST_PERIOD_S / 2
        self._cpu_s = 0.0

    def cpu_s(self) -> float:
        """Return the CPU time that they have used so far, in seconds. It never decreases."""
        if time.monotonic() > self._searched_s + self._period_s:
            self._searched_s = time.monotonic()
            self._period_s = min(2 * self._period_s, _SEARCH_PERIOD_S)
            self._members = _members(self._root)
        total = 0.0
        for pid, with_ended in self._members.items():
            with suppress(OSError, ValueError, IndexError):
                total += cpu_s_of(pid, with_ended=with_ended)
        # A member that has ended takes its time with it until its parent has waited for it.
        self._cpu_s = max(self._cpu_s, total)
        return self._cpu_s


@cache
def _root() -> int:
    """Return the driver, the parent of a local Ray; else Ray itself, which was there before."""
    with suppress(psutil.Error):
        for process in psutil.Process().parents():
            # This process is an actor's then: the node's raylet has started it.
            if process.name() == "raylet":
                return process.ppid() if process.ppid() > 1 else process.pid
    return os.getpid()


def _members(root: int) -> dict[int, bool]:
    """Return the processes, each with True if the time of its ended children counts.

    A fork server's children are trials: neither they nor their time is overhead. Nor is
    anything else that the driver may have started.
    """
    members = {root: True}
    unvisited = [root]
    while unvisited:
        for child in children_of(unvisited.pop()):
            command = _command(child)
            if child in members or not any(mark in command for mark in _OWN):
                continue
            is_server = _SERVER in command
            members[child] = not is_server
            unvisited += [] if is_server else [child]
    return members


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
