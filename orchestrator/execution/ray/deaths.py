"""Deaths of supervisors: Ray's reason, and the launch that runs what they have ended again."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

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


def cause(error: object) -> str:
    """Return Ray's reason for an actor's death: its last line, without the advice that follows."""
    last = str(error or "").strip().splitlines()[-1:]
    return last[0].partition(_ADVICE)[0].strip() if last else "no reason is known"
