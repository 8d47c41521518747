"""Watchdog: whether the processes of Ray that a sweep needs are alive, and Tune in a thread.

Tune does not notice their deaths and would wait for ever: within C++, where no signal reaches it.
If the GCS has died, Ray ends the driver itself, with only a line from C++.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Final

import psutil
import ray

from orchestrator.kernel.executor import ExecutorLost
from orchestrator.system.lifeline import kill_groups

LOOK_S = 0.5
"""Period at which the main thread checks whether Ray is alive."""

ABANDON_S = 3.0
"""Longest wait for Tune's end once it is abandoned. Its loop runs ten times a second."""

ASK_S, ANSWER_S = 4.0, 4.0
"""Period at which a cluster's processes are asked, and the longest wait for an answer."""

MOST_FAILURES = 3
"""Missing answers in a row that count as a death: a host may be busy for a while."""

_FIRST: Final = ("gcs_server", "raylet")


def first_processes() -> list[psutil.Process]:
    """Return the raylet and the GCS that this process has started.

    Each leads a process group. The raylet's group contains its agents and workers.
    """
    named = [child for child in psutil.Process().children() if child.name() in _FIRST]
    return [each for each in named if each.status() != psutil.STATUS_ZOMBIE]


def _agents_of(process: psutil.Process) -> Iterator[psutil.Process]:
    """Yield what it starts before it answers; workers come afterwards."""
    for child in process.children():
        with suppress(psutil.NoSuchProcess):  # a worker that has ended
            if not any("default_worker.py" in word for word in child.cmdline()):
                yield child


class Abandoned(BaseException):
    """Raised in Tune's thread to end it. Tune would catch an :class:`Exception`, and ask Ray."""


class Watchdog:
    """Watches the processes of Ray that a sweep needs, while Tune runs in a thread.

    For our own Ray: GCS, raylet and its agents. A raylet ends with its agents, and ends the
    supervisors first: their trials would fail. For a cluster: GCS and the raylet of the driver's
    node, which are queried over the network.

    Attributes:
        is_stuck: True if the thread has been abandoned, and is still within Ray.
    """

    is_stuck = False

    def __init__(self, *, is_our_own: bool) -> None:
        """Find the processes; Ray must have started, or be connected."""
        self._leaders = first_processes() if is_our_own else []
        self._watched = {
            **{each: each.name() for each in self._leaders},
            **{agent: "agent" for each in self._leaders for agent in _agents_of(each)},
        }
        self._addresses = {} if is_our_own else _addresses_of_cluster()
        self._failures = dict.fromkeys(self._addresses, 0)
        self._asked_at, self._asking = time.monotonic(), Lock()
        self._is_abandoned = Event()

    def lost(self) -> str:
        """Return which of them has died, as a sentence; empty while all are alive."""
        names = [name for process, name in self._watched.items() if _has_ended(process)]
        if names:
            names.sort(key=lambda name: name != "agent")  # the first one to die
            return f"Ray's {names[0]} has died (Ray runs on it)"
        # Tune's thread calls this too, and an answer may take long.
        if time.monotonic() >= self._asked_at + ASK_S and self._asking.acquire(blocking=False):
            for name, address in self._addresses.items():
                self._failures[name] += 1
                with suppress(OSError):
                    socket.create_connection(address, ANSWER_S).close()
                    self._failures[name] = 0
            self._asked_at = time.monotonic()
            self._asking.release()
        for name, (host, port) in self._addresses.items():
            if self._failures[name] >= MOST_FAILURES:
                return f"the cluster's {name} at {host}:{port} does not answer"
        return ""

    def kill(self) -> None:
        """Kill them and Ray's agents and workers, if Ray is our own."""
        kill_groups(each.pid for each in self._leaders)

    def close(self) -> None:
        """Watch nothing any more."""
        self._watched = {}

    def is_over(self) -> bool:
        """Return True if the thread is abandoned, or Ray has died."""
        return self._is_abandoned.is_set() or bool(self.lost())

    def run(self, body: Callable[[], None]) -> None:
        """Run ``body`` in the thread, to its end.

        Raises:
            ExecutorLost: Ray has died meanwhile.
            BaseException: What ``body`` has raised, or a signal's handler.
        """
        # Kept: the frames of an error have Tune's objects, which ask Ray when they are collected.
        raised: list[BaseException] = []
        self._raised = raised

        def keep_error() -> None:
            try:
                body()
            except BaseException as error:  # noqa: BLE001 - the waiting thread raises it again
                raised.append(error)

        thread = Thread(target=keep_error, name="tune", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(LOOK_S)
                if thread.is_alive():
                    self._require_life()
        except BaseException:
            self._is_abandoned.set()
            thread.join(ABANDON_S)
            self.is_stuck = thread.is_alive()
            raise
        if raised:
            self._require_life()  # a death may be the cause
            raise raised[0]

    def _require_life(self) -> None:
        if reason := self.lost():
            self.kill()  # the others would only log the death
            raise ExecutorLost(reason)


def _has_ended(process: psutil.Process) -> bool:
    """Return True for a zombie too, and where its number belongs to another process."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _addresses_of_cluster() -> dict[str, tuple[str, int]]:
    context = ray.get_runtime_context()
    host, _, port = context.gcs_address.rpartition(":")
    found = {"GCS": (host.strip("[]"), int(port))}  # an IPv6 address is in brackets there
    for node in ray.nodes():
        if node["NodeID"] == context.get_node_id():
            found["raylet"] = node["NodeManagerAddress"], int(node["NodeManagerPort"])
    return found
