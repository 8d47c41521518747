"""Watchdog: whether the processes of Ray that a sweep needs are alive.

Tune hears of none of their deaths and would wait for ever. Where the GCS has died, Ray ends the
driver itself, with no more than a line of C++.
"""

from __future__ import annotations

import atexit
import os
import select
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

import psutil
import ray

from orchestrator.execution.process.leftovers import kill_groups
from orchestrator.system.processes import children_of

LOOK_S, ANSWER_S = 4.0, 4.0
"""Period at which a cluster's processes are asked, and the longest wait for an answer."""

MOST_FAILURES = 3
"""So many missing answers in a row are a death: a host may be busy for a while."""

_FIRST: Final = ("gcs_server", "raylet")


class Watchdog(Protocol):
    """Watch over the processes that a sweep needs."""

    def lost(self) -> str:
        """Return which of them has died, as a sentence; empty while all are alive."""

    def kill(self) -> None:
        """Kill all of them, if they are our own."""

    def close(self) -> None:
        """Release the resources of the watch."""


def first_processes() -> dict[int, str]:
    """Return the names of the raylet and the GCS that this process has started, by process id.

    Each leads a process group. The raylet's has its agents and workers.
    """
    found = {}
    for pid in children_of(os.getpid()):
        with suppress(psutil.NoSuchProcess):
            child = psutil.Process(pid)
            if child.name() in _FIRST and child.status() != psutil.STATUS_ZOMBIE:
                found[pid] = child.name()
    return found


def _is_worker(pid: int) -> bool:
    try:
        return any("default_worker.py" in word for word in psutil.Process(pid).cmdline())
    except psutil.NoSuchProcess:
        return True  # it has ended: no agent


class OwnProcesses:
    """GCS, raylet and agents of the Ray that this process has started.

    A raylet ends with its agents, and before it ends the supervisors: their trials would fail.
    """

    def __init__(self) -> None:
        """Find them; Ray has started."""
        self._groups = first_processes()
        named = dict(self._groups)
        for pid in self._groups:
            # The raylet starts its agents before it answers, and workers afterwards.
            named |= {child: "agent" for child in children_of(pid) if not _is_worker(child)}
        # Descriptors: the number of a process may be reused.
        self._watched = {os.pidfd_open(pid): name for pid, name in named.items()}

    def lost(self) -> str:
        """Return which of them has died, as a sentence; empty while all are alive."""
        ended, _, _ = select.select(list(self._watched), [], [], 0)
        names = [self._watched[each] for each in ended]
        names.sort(key=lambda name: name != "agent")  # the first one to die
        return f"Ray's {names[0]} has died (Ray runs on it)" if names else ""

    def kill(self) -> None:
        """Kill them and Ray's agents and workers."""
        kill_groups(self._groups)

    def close(self) -> None:
        """Close the descriptors. Safe to call more than once."""
        for descriptor in self._watched:
            os.close(descriptor)
        self._watched = {}


@dataclass(kw_only=True)
class _Address:
    """Address at which a process of a cluster listens."""

    name: str
    host: str
    port: int
    failures: int = 0

    def connect(self) -> None:
        try:
            socket.create_connection((self.host, self.port), ANSWER_S).close()
        except OSError:
            self.failures += 1
        else:
            self.failures = 0


class ClusterProcesses:
    """GCS of a cluster, and the raylet of the driver's node."""

    def __init__(self) -> None:
        """Find their addresses; Ray is connected."""
        context = ray.get_runtime_context()
        host, _, port = context.gcs_address.rpartition(":")
        # An IPv6 address is in brackets there.
        self._addresses = [_Address(name="GCS", host=host.strip("[]"), port=int(port))]
        self._addresses += [
            _Address(
                name="raylet", host=node["NodeManagerAddress"], port=int(node["NodeManagerPort"])
            )
            for node in ray.nodes()
            if node["NodeID"] == context.get_node_id()
        ]
        self._looked_at, self._looking = time.monotonic(), Lock()

    def lost(self) -> str:
        """Return which of them does not answer, as a sentence; empty while both do."""
        # Tune's thread calls this too, and an answer may take long.
        if time.monotonic() >= self._looked_at + LOOK_S and self._looking.acquire(blocking=False):
            try:
                for each in self._addresses:
                    each.connect()
                self._looked_at = time.monotonic()
            finally:
                self._looking.release()
        for each in self._addresses:
            if each.failures >= MOST_FAILURES:
                return f"the cluster's {each.name} at {each.host}:{each.port} does not answer"
        return ""

    def kill(self) -> None:
        """Do nothing: the cluster is not ours."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def abandon(processes: Watchdog) -> None:
    """End what is left of Ray without calling it: a call could wait for ever."""
    processes.kill()
    atexit.unregister(ray.shutdown)
