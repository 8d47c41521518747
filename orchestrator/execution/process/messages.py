"""Messages from a training process to its supervisor, which :class:`ForkedProcess` receives."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from orchestrator.trial import Report


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
