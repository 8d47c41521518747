"""Processes that end with those that started them (Linux, ``prctl(2)``)."""

from __future__ import annotations

import ctypes
import os
import signal
import threading

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Has the kernel kill this process when its parent dies.

    Args:
        parent: The parent's process id, to notice that it died before this call.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def tie_children() -> None:
    """Has every process that this one's main thread forks end with it, and so on below.

    The kernel's signal comes when the forking *thread* ends: what another thread forks is
    left as it is.
    """
    forking: dict[str, int | None] = {"parent": None}

    def before() -> None:
        is_main = threading.current_thread() is threading.main_thread()
        forking["parent"] = os.getpid() if is_main else None

    def after_in_child() -> None:
        if forking["parent"] is not None:
            die_with_parent(forking["parent"])

    os.register_at_fork(before=before, after_in_child=after_in_child)


def adopt_orphans() -> None:
    """Makes this process the parent of descendants whose own parent has died."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
