"""Leftovers: processes that trials have started and that outlive them, in any session.

The kernel makes a trial the parent of its own orphans (``PR_SET_CHILD_SUBREAPER``), and the fork
server the parent of an ended trial's orphans. So every child that the server has not forked is a
leftover. If the server has died as well, leftovers are found by their environment.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from orchestrator.system.processes import children_of

MARK = "SWEEP_FORK_SERVER"
"""Environment variable of a fork server and all below it: the path of its socket. For other
processes that end with the owner of the server's folder it is that folder."""

REMOVE_S = 20.0
"""Longest time of trying to remove a folder: the kernel ends the processes that write to it."""


def kill_group(pid: int) -> None:
    """Kill a process and its process group.

    The group alone is not enough: a child that has not called ``setsid`` yet has none.
    """
    kill_groups([pid])
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_groups(groups: Iterable[int]) -> None:
    """Kill all processes of those process groups that exist."""
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def end_leftovers(kept: Container[int]) -> None:
    """Kill and wait for all children of this process but ``kept``, and all below them.

    The children of a killed process become this process's children: hence the loop. It blocks
    only while the kernel cleans up, since a SIGKILL is not delayed.
    """
    while left := [pid for pid in children_of(os.getpid()) if pid not in kept]:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def end_marked(place: Path) -> None:
    """Kill all processes of a fork server or an owner that has died, by their environment.

    Args:
        place: The server's socket, or the owner's folder.
    """
    mark = f"{MARK}={place}".encode()
    while left := [pid for pid in psutil.pids() if mark in environment_of(pid)]:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def keep_temporary_files(folder: Path) -> None:
    """Keep multiprocessing's temporary files, here and in all children, in this folder.

    It removes its own, but not those of a loader worker that is killed.
    """
    folder.mkdir(exist_ok=True)
    multiprocessing.current_process()._config["tempdir"] = str(folder)  # type: ignore[attr-defined]


def remove_folder(folder: Path) -> None:
    """Remove a folder in which processes that are being killed may still create files."""
    deadline = time.monotonic() + REMOVE_S
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.01)


def environment_of(pid: int) -> list[bytes]:
    """Return the entries of a process's environment; none if it has ended or may not be read."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []
