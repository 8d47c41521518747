"""Deaths of supervisors: Ray's reason, and the launch that runs what they have ended again."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

import ray

from orchestrator.kernel.executor import Launch

_ADVICE = re.compile(r" (There are some potential root causes|Some common causes include)\b.*")
_CLASS = re.compile(r"^[\w.]+\.[A-Z]\w+: ")
"""Begins the last line of an exception that an actor has raised."""


def repeated(launch: Launch, unfinished: Container[str]) -> Launch | None:
    """Return a launch of the trials that have not ended, one attempt more.

    Args:
        launch: What the supervisor ran.
        unfinished: Ids of its trials that have not ended.

    Returns:
        None where there were attempts enough.
    """
    left = [each for each in launch.each() if each.trial.id in unfinished]
    if any(each.limits.retries < 1 for each in left):
        return None
    first, *others = (
        replace(
            each,
            limits=replace(each.limits, retries=each.limits.retries - 1),
            failed_attempts=each.failed_attempts + 1,
        )
        for each in left
    )
    return replace(first, others=tuple(others))


def cause(error_file: str | None) -> str:
    """Return the reason of an actor's death: its last line, without the advice that follows.

    Args:
        error_file: File that Tune has written the error to, or None.
    """
    path = Path(error_file or "")
    lines = path.read_text(errors="replace").strip().splitlines() if path.is_file() else []
    last = _ADVICE.sub("", lines[-1]).strip() if lines else ""
    return _CLASS.sub("", last) or "Ray gives no reason"


def is_lost(node: str) -> bool:
    """Return True if Ray has lost the node of this host name."""
    if not node:
        return False
    found = [each["Alive"] for each in ray.nodes() if each["NodeManagerHostname"] == node]
    return bool(found) and not any(found)
