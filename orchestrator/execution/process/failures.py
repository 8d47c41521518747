"""Failures: state and reason of a trial, from an exception in its training process."""

from __future__ import annotations

import errno
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.trial import TrialState

REASON_LENGTH = 2000
GAVE_UP = 75
"""Exit code of a rank other than 0 that found its config infeasible; ``EX_TEMPFAIL``."""

_MEMORY_ERRORS = re.compile(
    "can't allocate memory|cannot allocate memory|not enough memory|STATUS_ALLOC_FAILED"
    "|out of (shared )?memory"  # CUDA's, NCCL's
    "|(shared memory|shm|</torch_).*no space left on device",  # a small /dev/shm
    re.IGNORECASE | re.DOTALL,
)
"""Messages of torch and the libraries below it in a plain ``RuntimeError``."""

_ASKED = re.compile(r"(?:tried to|unable to) allocate ([\d.]+) ?(bytes|[KMGT]iB)", re.IGNORECASE)


class OverMemoryLimit(BaseException):
    """Raised at any point of a trial, by the signal of a supervisor that ends it for its memory.

    No ``Exception``, so that a loop which survives errors does not survive this.
    """


def failure(error: BaseException, num_steps: int | None) -> dict[str, Any]:
    """Return the outcome of a trial that ended with ``error``.

    Args:
        error: The exception.
        num_steps: Steps done by then; None if training had not begun.

    Returns:
        ``state``, ``reason``, and ``at``: its position in the training, in words.
    """
    at = "before training began" if num_steps is None else f"at step {num_steps + 1}"
    reason, state = f"{type(error).__name__}: {error}".strip(), TrialState.FAILED
    if is_memory(error) or isinstance(error, OverMemoryLimit):
        reason = f"out of memory {at}{_asked(str(error))}: {reason}"
        state = TrialState.INFEASIBLE
    if isinstance(error, FloatingPointError):  # it diverged
        state = TrialState.INFEASIBLE
    return {"state": state, "reason": reason[:REASON_LENGTH], "at": at}


def is_memory(error: BaseException) -> bool:
    """Return True if ``error`` is a lack of memory, the host's or a device's."""
    if isinstance(error, MemoryError):
        return True
    if type(error).__name__ == "OutOfMemoryError":  # torch's, without importing torch for it
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and bool(_MEMORY_ERRORS.search(str(error)))


def lost_a_worker(reason: str) -> bool:
    """Return True if a trial failed because a loader worker ended early.

    torch names the signal if SIGCHLD comes first. If it misses the worker's data first, it
    does not know the cause.
    """
    causes = ("killed by signal: Killed", "exited unexpectedly")
    return "DataLoader worker" in reason and any(cause in reason for cause in causes)


def _asked(message: str) -> str:
    """Return the amount that was asked for, where the error says so."""
    match = _ASKED.search(message)
    if match is None:
        return ""
    amount, unit = match.groups()
    if unit == "bytes":
        amount, unit = f"{float(amount) / 2**30:.2f}", "GiB"
    return f", {amount} {unit} asked for"


def write_reason(log: Path, index: int, reason: str) -> None:
    """Write why a rank other than 0 gave up, for the supervisor."""
    _reason_file(log, index).write_text(reason)


def read_reason(log: Path, index: int) -> str:
    """Return why a rank gave up, as :func:`write_reason` has written it."""
    with suppress(OSError):
        return _reason_file(log, index).read_text()
    return "it found that this config cannot run here"


def _reason_file(log: Path, index: int) -> Path:
    return log.with_suffix(f".rank{index}")
