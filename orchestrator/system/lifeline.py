"""Lifeline: processes that end with the process that started them (Linux, ``prctl(2)``).

A signal handler or ``atexit`` cannot do that: a parent that is killed runs neither. The kernel
signals the children itself (``PR_SET_PDEATHSIG``). Two properties matter here:

- It fires when the parent *thread* ends that forked the child, not the parent process. A child that
  was forked by a short-lived thread would die with that thread.
- A child's children do not inherit it: it is set anew after each fork.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent dies.

    Args:
        parent: The parent's process id. A parent that died before this call can send no signal
            any more: then this process has another parent already, and ends at once.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
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
