"""Deaths of supervisors: Ray's reason, and the launch that runs what they have ended again."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from orchestrator.execution.base import Launch

_ADVICE = " There are some potential root causes."


def repeated(launch: Launch, unfinished: Container[str]) -> Launch | None:
    """Return a launch of the trials that have not ended, one attempt more.

    Args:
        launch: What the supervisor ran.
        unfinished: Ids of its trials that have not ended.

    Returns:
        None where there were attempts enough.
    """
    left = [each for each in launch.each() if each.trial.id in unfinished]
    if any(each.retries < 1 for each in left):
        return None
    first, *others = (
        replace(each, retries=each.retries - 1, failed_attempts=each.failed_attempts + 1)
        for each in left
    )
    return replace(first, others=tuple(others))


def cause(error_file: str | None) -> str:
    """Return Ray's reason for an actor's death: its last line, without the advice that follows.

    Args:
        error_file: File that Tune has written the error to, or None.
    """
    path = Path(error_file or "")
    lines = path.read_text(errors="replace").strip().splitlines() if path.is_file() else []
    return lines[-1].partition(_ADVICE)[0].strip() if lines else "no reason is known"
