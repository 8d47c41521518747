"""Messages from a training process to its supervisor."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from orchestrator.trial import Report, TrialResult


def receive(channel: Connection, timeout_s: float) -> dict[str, Any] | None:
    """Return the next message, or None if none comes in time or the other end is closed."""
    try:
        if not channel.poll(timeout_s):
            return None
        message: dict[str, Any] = json.loads(channel.recv_bytes())
    except (EOFError, OSError, ValueError, MemoryError):
        # Bytes that the training function wrote to the pipe are skipped. A closed pipe is
        # readable at once, for ever. The exit status follows within milliseconds: without the
        # pause the caller would spin until then.
        time.sleep(0.01)
        return None
    return message


def result_within(channel: Connection, timeout_s: float) -> dict[str, Any] | None:
    """Return the result that is under way, or None if none comes in time.

    Reports before it are skipped.
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


class PipeChannel:
    """Sends reports to the supervisor without waiting for answers.

    Attributes:
        last: Newest report.
    """

    def __init__(self, connection: Connection) -> None:
        """Send over ``connection``."""
        self._connection = connection
        self._owner = os.getpid()
        self._is_to_stop = False
        self.last: Report | None = None

    def report(self, report: Report) -> bool:
        """Send a report; return True if the trial is to stop, as an answer to any report.

        The answer may be to an earlier report: training continues while the supervisor decides.
        """
        self.last = report
        self.send({"report": report.to_json()})
        while os.getpid() == self._owner and self._connection.poll(0):
            self._receive()
        return self._is_to_stop

    def end_slice(self, progress: float) -> None:
        """End this trial's time slice, and wait for its next one.

        The supervisor stops the process and its loader workers meanwhile. The wait for the
        message, not the stop signal, is what ends the slice between two steps.
        """
        self.send({"slice_end": progress})
        self._receive()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message; a process that the training function has forked sends none."""
        if os.getpid() != self._owner:
            return
        self._connection.send_bytes(json.dumps(message).encode())

    def _receive(self) -> None:
        message: dict[str, bool] = json.loads(self._connection.recv_bytes())
        # A later message does not withdraw a stop.
        self._is_to_stop |= message.get("stop", False)
