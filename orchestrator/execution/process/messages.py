"""What passes between a supervisor and its trial's processes, and what they leave in files."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from orchestrator.trial import TrialResult


def receive(channel: Connection, timeout_s: float) -> dict[str, Any] | None:
    """The next message, or None where none comes or the other end has gone."""
    try:
        if not channel.poll(timeout_s):
            return None
        message: dict[str, Any] = json.loads(channel.recv_bytes())
    except (EOFError, OSError):
        time.sleep(0.01)  # its exit status is on the way
        return None
    return message


def result_within(channel: Connection, timeout_s: float) -> dict[str, Any] | None:
    """The result that is on its way, reports before it passed over; None where none comes."""
    deadline = time.monotonic() + timeout_s
    while (left_s := deadline - time.monotonic()) > 0:
        message = receive(channel, left_s)
        if message is not None and "result" in message:
            result: dict[str, Any] = message["result"]
            return result
    return None


def measured(row: TrialResult, said: Mapping[str, Any]) -> TrialResult:
    """``row`` with what the training process has said of itself."""
    return replace(
        row,
        metrics={**row.metrics, **said.get("metrics", {})},
        tags={**row.tags, **said.get("tags", {})},
        blocks=said.get("blocks", row.blocks),
    )


def tail_of(path: Path, num_lines: int = 20) -> str:
    """The last lines of a trial's output."""
    if not path.exists():
        return ""
    return "\n".join(path.read_text(errors="replace").splitlines()[-num_lines:])


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
