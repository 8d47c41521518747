"""Processes of Ray that a sweep cannot go on without, and whether they live.

Ray tells its driver of none of their deaths in a way that Tune passes on: Tune would wait for ever.
And where the GCS has died, Ray ends the driver by itself, with no more than a line of C++.
"""

from __future__ import annotations

import atexit
import os
import select
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import psutil
import ray

from orchestrator.execution.process.leftovers import kill_groups

LOOK_S, ANSWER_S = 4.0, 4.0
"""How often a cluster's processes are asked, and how long for an answer."""

MOST_FAILURES = 3
"""So many times in a row without an answer are a death: a host may be busy for a while."""

_FIRST = ("gcs_server", "raylet")
_WORKER = "default_worker.py"


class Lives(Protocol):
    """Processes that a sweep cannot go on without."""

    def lost(self) -> str:
        """Return what has died, in words; empty while everything lives."""

    def kill(self) -> None:
        """Kill it all, where it is our own."""

    def close(self) -> None:
        """Release what the watch holds."""


def process_groups() -> list[int]:
    """Return the process groups of the Ray that this process has started, as far as it has come.

    They are the raylet's, with its agents and workers, and that of the GCS.
    """
    return [process.pid for process in _first_processes()]


def _first_processes() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if child.name() in _FIRST and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


class OwnProcesses:
    """GCS, raylet and agents of the Ray that this process has started.

    By descriptors of the processes: a number may be given to another process.
    """

    def __init__(self) -> None:
        """Find them; Ray has started."""
        self._groups = process_groups()
        self._watched: dict[int, str] = {}
        for process in _first_processes():
            self._watch(process, process.name())
            for child in process.children():
                with suppress(psutil.NoSuchProcess):
                    # The raylet starts its agents before it answers, and workers afterwards.
                    if _WORKER not in " ".join(child.cmdline()):
                        self._watch(child, "agent")

    def lost(self) -> str:
        """Return which of them has died, in words; empty while all live."""
        ended, _, _ = select.select(list(self._watched), [], [], 0)
        names = [self._watched[each] for each in ended]
        # Those that follow the first one's death are there as well.
        names.sort(key=lambda name: name != "agent")
        return f"Ray's {names[0]} has died (a process that Ray runs on)" if names else ""

    def kill(self) -> None:
        """Kill them all, and Ray's workers."""
        kill_groups(self._groups)

    def close(self) -> None:
        """Forget them."""
        for descriptor in self._watched:
            os.close(descriptor)
        self._watched = {}

    def _watch(self, process: psutil.Process, name: str) -> None:
        with suppress(ProcessLookupError):
            self._watched[os.pidfd_open(process.pid)] = name


@dataclass(kw_only=True)
class _Door:
    """An address that a process of Ray listens at."""

    name: str
    address: tuple[str, int]
    failures: int = 0

    def knock(self) -> None:
        try:
            socket.create_connection(self.address, timeout=ANSWER_S).close()
        except OSError:
            self.failures += 1
        else:
            self.failures = 0


class ClusterProcesses:
    """A cluster's GCS, and the raylet of the driver's node."""

    def __init__(self) -> None:
        """Find their addresses; Ray is connected."""
        context = ray.get_runtime_context()
        host, _, port = context.gcs_address.rpartition(":")
        self._doors = [_Door(name=f"GCS at {host}:{port}", address=(host, int(port)))]
        for node in ray.nodes():
            if node["NodeID"] == context.get_node_id():
                address = node["NodeManagerAddress"], int(node["NodeManagerPort"])
                name = f"raylet at {address[0]}:{address[1]}"
                self._doors.append(_Door(name=name, address=address))
        self._looked_at = time.monotonic()

    def lost(self) -> str:
        """Return which of them answers no more, in words; empty while both do."""
        if time.monotonic() >= self._looked_at + LOOK_S:
            self._looked_at = time.monotonic()
            for door in self._doors:
                door.knock()
        return _silent(self._doors)

    def kill(self) -> None:
        """Do nothing: others run there."""

    def close(self) -> None:
        """Do nothing: it holds nothing."""


def _silent(doors: Sequence[_Door]) -> str:
    for door in doors:
        if door.failures >= MOST_FAILURES:
            return f"the cluster's {door.name} answers no more"
    return ""


def leave(processes: Lives) -> None:
    """End what is left of Ray without a call of it, which could wait for ever."""
    processes.kill()
    atexit.unregister(ray.shutdown)
