"""Lifeline: processes that end with the process that started them, in any session.

A signal handler or ``atexit`` cannot do that: a parent that is killed runs neither. The kernel
signals the children itself (``PR_SET_PDEATHSIG``, ``prctl(2)``). Two properties matter here:

- It fires when the parent *thread* ends that forked the child, not the parent process. A child that
  was forked by a short-lived thread would die with that thread.
- A child's children do not inherit it: it is set anew after each fork.

Leftovers outlive the trial that has started them. The kernel makes a trial the parent of its own
orphans (``PR_SET_CHILD_SUBREAPER``), and the fork server the parent of an ended trial's orphans. So
every child that the server has not forked is a leftover. If the server has died as well, leftovers
are found by their environment.
"""

import ctypes
import os
import signal
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from orchestrator.system.processes import children_of

MARK = "SWEEP_FORK_SERVER"
"""Environment variable of a fork server and all below it: the path of its socket. For other
processes that end with the owner of the server's folder it is that folder."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Let the kernel kill this process, or signal it, when its parent dies.

    Args:
        parent: The parent's process id. A parent that died before this call can send no signal
            any more: then this process has another parent already, and ends at once.
        number: The signal.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    # Compared after the call: a death between a comparison and the call would go unnoticed.
    if os.getppid() != parent:
        # Not sys.exit: Python prints and ignores an exception in an at-fork handler.
        os._exit(1)


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent has died.

    Else they go to init. In a container the first process mostly waits for no children: there they
    would stay as zombies.
    """
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


JOB_SIGNALS: Final = (
    signal.SIGTERM,
    signal.SIGHUP,  # the terminal has gone
    signal.SIGUSR1,  # Slurm, LSF and Grid Engine, some time before a limit
    signal.SIGUSR2,
    signal.SIGQUIT,  # Ctrl-\, and some service managers
)


def leave_to_driver() -> None:
    """Ignore them, and Ctrl-C."""
    for number in (signal.SIGINT, *JOB_SIGNALS):
        signal.signal(number, signal.SIG_IGN)


def heed_again() -> None:
    """Have them end this process again, but not Ctrl-C."""
    for number in JOB_SIGNALS:
        signal.signal(number, signal.SIG_DFL)


# -- leftovers


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
    while left := [pid for pid in psutil.pids() if mark in _environment_of(pid)]:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _environment_of(pid: int) -> list[bytes]:
    """Return the entries of a process's environment; none if it has ended or may not be read."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []
