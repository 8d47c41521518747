"""What an exception in a training process says of its trial: infeasible, or failed."""

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
"""What torch and the libraries below it say in a plain ``RuntimeError``."""

_ASKED = re.compile(r"(?:tried to|unable to) allocate ([\d.]+) ?(bytes|[KMGT]iB)", re.IGNORECASE)


class OverMemoryLimit(BaseException):
    """Raised wherever a trial is when its supervisor finds that it has too much memory.

    No ``Exception``, so that a loop which survives errors does not survive this.
    """


def failure(error: BaseException, num_steps: int | None) -> dict[str, Any]:
    """State and reason of a trial that ended with ``error``.

    Args:
        error: What was raised.
        num_steps: Steps that were done by then; None where training had not begun.

    Returns:
        ``state``, ``reason``, and ``at``: where in the training that was, in words.
    """
    at = "before training began" if num_steps is None else f"at step {num_steps + 1}"
    said, state = f"{type(error).__name__}: {error}".strip(), TrialState.FAILED
    if is_memory(error) or isinstance(error, OverMemoryLimit):
        said = f"out of memory {at}{_asked(str(error))}: {said}"
        state = TrialState.INFEASIBLE
    if isinstance(error, FloatingPointError):  # it diverged
        state = TrialState.INFEASIBLE
    return {"state": state, "reason": said[:REASON_LENGTH], "at": at}


def is_memory(error: BaseException) -> bool:
    """Whether memory, the host's or a device's, was not to be had."""
    if isinstance(error, MemoryError):
        return True
    if type(error).__name__ == "OutOfMemoryError":  # torch's, without importing torch for it
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and bool(_MEMORY_ERRORS.search(str(error)))


def lost_a_worker(reason: str) -> bool:
    """Whether a trial failed because a loader worker ended that was not to.

    torch names the signal where it hears of the worker's death first. Where it misses the worker's
    data first, it does not know what ended it.
    """
    lost = ("killed by signal: Killed", "exited unexpectedly")
    return "DataLoader worker" in reason and any(words in reason for words in lost)


def _asked(message: str) -> str:
    """How much was asked for, where the error says so."""
    found = _ASKED.search(message)
    if found is None:
        return ""
    amount, unit = found.groups()
    if unit == "bytes":
        amount, unit = f"{float(amount) / 2**30:.2f}", "GiB"
    return f", {amount} {unit} asked for"


def leave_words(log: Path, index: int, reason: str) -> None:
    """Keeps why a rank other than 0 gave up, for the supervisor."""
    _words_file(log, index).write_text(reason)


def last_words(log: Path, index: int) -> str:
    """Why a rank gave up, as :func:`leave_words` has kept it."""
    with suppress(OSError):
        return _words_file(log, index).read_text()
    return "it found that this config cannot run here"


def _words_file(log: Path, index: int) -> Path:
    return log.with_suffix(f".rank{index}")
