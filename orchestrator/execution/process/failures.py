"""Failures: state and reason of a trial, from an exception in its training process."""

import errno
import multiprocessing
import re
import signal
import time
from typing import Any

from orchestrator.texts import bounded, described
from orchestrator.trial import TrialState

REASON_LENGTH = 2000
WORKER_GONE_S = 0.5
"""Longest wait for the exit status of loader workers: their connections are closed before that."""
_MEMORY_ERRORS = re.compile(
    "can't allocate memory|cannot allocate memory|not enough memory|STATUS_ALLOC_FAILED"
    "|out of (shared )?memory"  # CUDA's, NCCL's
    "|(shared memory|shm|</torch_).*no space left on device",  # a small /dev/shm
    re.IGNORECASE | re.DOTALL,
)
"""Messages of torch and the libraries below it in a plain ``RuntimeError``."""

_OF_THE_MACHINE = re.compile(
    "cuda|cudnn|cublas|nccl|gloo|worker.*exited|child process|connect|timed out|too many open files"
    "|can't start new thread|resource temporarily",
    re.IGNORECASE | re.DOTALL,
)
"""Messages of errors that a machine may cause at times."""

_OF_OTHER_RANKS = re.compile(
    "gloo|nccl|connection (was )?(closed|reset|refused|aborted)|broken pipe|monitoredbarrier"
    "|waiting for clients",
    re.IGNORECASE,
)
"""Messages of ``torch.distributed`` in a ``RuntimeError`` of a rank that has lost another one: the
connections of the rank that failed first end with it, and the others fail in their next collective
operation."""


def failure(error: BaseException, num_steps: int | None) -> dict[str, Any]:
    """Return the outcome of a trial that ended with ``error``.

    Args:
        error: The exception.
        num_steps: Steps done by then; None if training had not begun.

    Returns:
        ``state``, ``reason``, ``at``: its position in the training, in words, ``again``: True
        where another attempt may end otherwise, see :func:`may_end_otherwise`, ``lost_a_rank``:
        True if it shows that another rank has ended, and ``failed_at``: now, in seconds since the
        epoch.
    """
    at = "before training began" if num_steps is None else f"at step {num_steps + 1}"
    reason, state = _with_worker(error), TrialState.FAILED
    if is_memory(error):
        reason = f"out of memory {at}: {reason}"
        state = TrialState.INFEASIBLE
    if isinstance(error, FloatingPointError):  # it diverged
        state = TrialState.INFEASIBLE
    return {
        "state": state,
        "reason": bounded(reason, REASON_LENGTH),
        "at": at,
        "again": may_end_otherwise(error, num_steps),
        "lost_a_rank": isinstance(error, RuntimeError) and bool(_OF_OTHER_RANKS.search(reason)),
        "failed_at": time.time(),
    }


def _with_worker(error: BaseException) -> str:
    """Return an error in words, with the loader worker that was killed where that may be why."""
    reason = described(error, REASON_LENGTH)
    is_of_one = isinstance(error, (ConnectionError, EOFError)) or "DataLoader worker" in reason
    children = list(multiprocessing.process._children) if is_of_one else []  # type: ignore[attr-defined]
    for child in children:
        child.join(WORKER_GONE_S / len(children))
    killed = [child for child in children if (child.exitcode or 0) < 0]
    if not killed:
        return reason
    name = f"DataLoader worker (pid {killed[0].pid}) is killed by signal: "
    name += signal.strsignal(-killed[0].exitcode) or str(-killed[0].exitcode)
    return f"{name}, for want of memory or of room in /dev/shm perhaps: {reason}"


def is_memory(error: BaseException) -> bool:
    """Return True if ``error`` is a lack of memory, the host's or a device's."""
    if isinstance(error, MemoryError):
        return True
    if type(error).__name__ == "OutOfMemoryError":  # torch's, without importing torch for it
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and bool(
        _MEMORY_ERRORS.search(described(error, REASON_LENGTH))
    )


def may_end_otherwise(error: BaseException, num_steps: int | None) -> bool:
    """Return True if another attempt at a trial may end otherwise than with ``error``.

    Before its first step an attempt fails the same way again: the same seed gives the same first
    batch. Errors that the machine may have caused are retried: errors of files, of the network, of
    memory, of workers and of devices, and exceptions raised from one of them.

    Args:
        error: The exception.
        num_steps: Steps done by then; None if training had not begun.
    """
    if num_steps or _OF_THE_MACHINE.search(described(error, REASON_LENGTH)):
        return True
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, (OSError, EOFError)) or is_memory(cause)):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def lost_a_worker(reason: str) -> bool:
    """Return True if a trial failed because a loader worker ended early.

    torch names the signal if SIGCHLD comes first. If it misses the worker's data first, it
    does not know the cause.
    """
    causes = ("killed by signal: Killed", "exited unexpectedly")
    return "DataLoader worker" in reason and any(cause in reason for cause in causes)
