"""Signals that terminals, shells and batch systems send to all processes of a job.

A sweep's driver acts on them. The other processes leave them to it, and end with their owner.
"""

from __future__ import annotations

import signal
from typing import Final

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
