"""Processes of Ray that a sweep cannot go on without, and whether they live.

Ray tells its driver of none of their deaths in a way that Tune passes on: Tune would wait for ever.
And where the GCS has died, Ray ends the driver by itself, with no more than a line of C++. One that
a signal has stopped is as good as dead: our own are made to go on.
"""

from __future__ import annotations

import atexit
import os
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

import psutil
import ray

from orchestrator.execution.process.leftovers import environment_of, kill_groups
from orchestrator.execution.ray.listener import is_ray
from orchestrator.system.processes import children_of, let_go_on

LOOK_S, ANSWER_S = 4.0, 4.0
"""How often a cluster's processes are asked, and how long for an answer."""

STOPPED_S = 2.0
"""How often our own are looked at, whether they are stopped."""

MOST_FAILURES = 3
"""So many times in a row without an answer are a death: a host may be busy for a while."""

MOST_CRASHES = 2
"""So many workers one after the other that end as they start, and no more will come up."""

_CRASHED = "probably it crashed during start"
"""What a raylet says of one, a minute after it has started it."""

MOST_BYTES = 20_000
"""So much of the end of a raylet's errors is read."""

_FIRST = ("gcs_server", "raylet")
_WORKER = "default_worker.py"


class Lives(Protocol):
    """Processes that a sweep cannot go on without."""

    def lost(self) -> str:
        """Return what has died, in words; empty while everything lives."""

    def take_notes(self) -> list[str]:
        """Return texts for the user that came up since the last call."""

    def kill(self) -> None:
        """Kill it all, where it is our own."""

    def close(self) -> None:
        """Release what the watch holds."""


def first_processes() -> dict[int, str]:
    """Return the names of the raylet and the GCS that this process has started, by process id."""
    found = {}
    for pid in children_of(os.getpid()):
        with suppress(psutil.NoSuchProcess):
            child = psutil.Process(pid)
            if child.name() in _FIRST and child.status() != psutil.STATUS_ZOMBIE:
                found[pid] = child.name()
    return found


def process_groups() -> list[int]:
    """Return the process groups of the Ray that this process has started, as far as it has come.

    They are the raylet's, with its agents and workers, and that of the GCS.
    """
    return list(first_processes())


def siblings_go_on() -> None:
    """Continue workers of this one's job, on its node, that a signal has stopped."""
    job = f"RAY_JOB_ID={ray.get_runtime_context().get_job_id()}".encode()
    for pid in children_of(os.getppid()):
        if job in environment_of(pid):
            let_go_on(pid)


class OwnProcesses:
    """GCS, raylet and agents of the Ray that this process has started.

    By descriptors of the processes: a number may be given to another process.
    """

    def __init__(self) -> None:
        """Find them; Ray has started."""
        self._groups = process_groups()
        self._watched: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._live_workers: set[int] = set()
        self._crashes_before = 0
        self._crash = ""
        self._notes: list[str] = []
        self._looked_at = time.monotonic()
        for pid, name in first_processes().items():
            self._watch(pid, name)
            for child in children_of(pid):
                with suppress(psutil.NoSuchProcess):
                    # The raylet starts its agents before it answers, and workers afterwards.
                    if _WORKER not in " ".join(psutil.Process(child).cmdline()):
                        self._watch(child, "agent")

    def lost(self) -> str:
        """Return which of them has died, in words; empty while all live."""
        if time.monotonic() >= self._looked_at + STOPPED_S:
            self._looked_at = time.monotonic()
            self._let_go_on()
            self._crash = self._crash or self._crash_of_workers()
        if self._crash:
            return self._crash
        ended, _, _ = select.select(list(self._watched), [], [], 0)
        names = [self._watched[each] for each in ended]
        # Those that follow the first one's death are there as well.
        names.sort(key=lambda name: name != "agent")
        return f"Ray's {names[0]} has died (a process that Ray runs on)" if names else ""

    def take_notes(self) -> list[str]:
        """Return texts for the user that came up since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def kill(self) -> None:
        """Kill them all, and Ray's workers."""
        kill_groups(self._groups)

    def close(self) -> None:
        """Forget them."""
        for descriptor in self._watched:
            os.close(descriptor)
        self._watched = {}

    def _watch(self, pid: int, name: str) -> None:
        with suppress(ProcessLookupError):
            self._watched[os.pidfd_open(pid)] = name
            self._names[pid] = name

    def _crash_of_workers(self) -> str:
        """Return why no worker comes up, in words; empty while one lives, or was not yet missed."""
        workers = {pid for group in self._groups for pid in children_of(group)} - self._names.keys()
        lasting, self._live_workers = workers & self._live_workers, workers
        lines = [line for group in self._groups for line in _last_errors(group)]
        crashes = [number for number, line in enumerate(lines) if _CRASHED in line]
        if lasting:
            self._crashes_before = len(crashes)
        if len(crashes) < self._crashes_before + MOST_CRASHES:
            return ""
        said = [line for line in lines[: crashes[-1]] if line.strip() and _CRASHED not in line]
        return f"Ray's workers end as they start ({said[-1].strip()[:200] if said else 'silently'})"

    def _let_go_on(self) -> None:
        """Continue those that a signal has stopped, and trials' supervisors."""
        workers = {pid for group in self._groups for pid in children_of(group)}
        for pid in sorted(self._names.keys() | workers):
            if let_go_on(pid):
                name = self._names.get(pid, "worker")
                self._notes.append(f"Ray's {name} was stopped by a signal, and goes on")


def _last_errors(pid: int) -> list[str]:
    """Return the last lines of what a process has written as errors, where that is a file."""
    errors = Path(f"/proc/{pid}/fd/2")
    with suppress(OSError):
        if errors.is_file():
            return errors.read_bytes()[-MOST_BYTES:].decode(errors="replace").splitlines()
    return []


@dataclass(kw_only=True)
class _Door:
    """An address that a process of Ray listens at."""

    name: str
    address: tuple[str, int]
    failures: int = 0

    def knock(self) -> None:
        try:
            answers = is_ray(self.address, ANSWER_S)
        except OSError:
            answers = False
        self.failures = 0 if answers else self.failures + 1


class ClusterProcesses:
    """A cluster's GCS, and the raylet of the driver's node."""

    def __init__(self) -> None:
        """Find their addresses; Ray is connected."""
        context = ray.get_runtime_context()
        host, _, port = context.gcs_address.rpartition(":")
        # An address of IPv6 is in brackets there.
        self._doors = [_Door(name=f"GCS at {host}:{port}", address=(host.strip("[]"), int(port)))]
        for node in ray.nodes():
            if node["NodeID"] == context.get_node_id():
                address = node["NodeManagerAddress"], int(node["NodeManagerPort"])
                name = f"raylet at {address[0]}:{address[1]}"
                self._doors.append(_Door(name=name, address=address))
        self._looked_at, self._looking = time.monotonic(), Lock()

    def lost(self) -> str:
        """Return which of them answers no more, in words; empty while both do."""
        # Tune's thread asks as well, and an answer may be waited for.
        if time.monotonic() >= self._looked_at + LOOK_S and self._looking.acquire(blocking=False):
            try:
                for door in self._doors:
                    door.knock()
                self._looked_at = time.monotonic()
            finally:
                self._looking.release()
        return _silent(self._doors)

    def take_notes(self) -> list[str]:
        """Return nothing: others look after it."""
        return []

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
