"""Messages from a training process to its supervisor."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from orchestrator.trial import TrialResult


def receive(channel: Connection, timeout_s: float) -> dict[str, Any] | None:
    """Return the next message, or None where none comes in time or the other end has gone."""
    try:
        if not channel.poll(timeout_s):
            return None
        message: dict[str, Any] = json.loads(channel.recv_bytes())
    except (EOFError, OSError, ValueError, MemoryError):
        # What the training function has written to the pipe is passed over. A closed one is
        # readable at once, for ever. The exit status follows within milliseconds: without the
        # pause the caller would spin until then.
        time.sleep(0.01)
        return None
    return message


def result_within(channel: Connection, timeout_s: float) -> dict[str, Any] | None:
    """Return the result that is on its way, or None where none comes in time.

    Reports before it are passed over.
    """
    deadline = time.monotonic() + timeout_s
    # Against one deadline: reports that come all the time do not prolong the wait.
    while (left_s := deadline - time.monotonic()) > 0:
        message = receive(channel, left_s)
        if message is not None and "result" in message:
            result: dict[str, Any] = message["result"]
            return result
    return None


def with_measurements(row: TrialResult, message: Mapping[str, Any]) -> TrialResult:
    """Return ``row`` with the metrics, tags and block times that a process has sent."""
    return replace(
        row,
        metrics={**row.metrics, **message.get("metrics", {})},
        tags={**row.tags, **message.get("tags", {})},
        blocks=message.get("blocks", row.blocks),
    )
