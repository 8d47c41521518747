"""Rank group: all processes of a trial, one a rank."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.execution.process.fork_client import ForkedProcess
from orchestrator.execution.process.messages import receive, result_within
from orchestrator.execution.process.ranks import RankEnd, RankProcess, StartRank, request
from orchestrator.kernel.executor import LEAVE_SIGNAL, Launch, Rank


class RankGroup(ForkedProcess):
    """The process of rank 0 of one attempt at a trial, which sends messages, and the others.

    Attributes:
        others: Processes of ranks 1, 2, ...
    """

    def __init__(
        self, launch: Launch, ranks: Sequence[Rank], server: Path, start_rank: StartRank
    ) -> None:
        """Start a process for each rank.

        Args:
            launch: The trial.
            ranks: All ranks of the trial, rank 0 first.
            server: Socket of the fork server for rank 0.
            start_rank: Starts the other ranks.

        Raises:
            ServerError: A fork server did not come up.
        """
        self.others: list[RankProcess] = []
        super().__init__(server, request(launch, ranks[0]))
        try:
            for rank in ranks[1:]:
                self.others.append(start_rank(launch, rank))
        except BaseException:
            self.hang_up()  # the ranks that did start would wait for the missing one for ever
            raise

    @property
    def pids(self) -> list[int]:
        """Process id of each rank on this node."""
        return [self.pid, *(other.pid for other in self.others if other.pid)]

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next message of rank 0, or None where none comes in time."""
        return receive(self.channel, timeout_s)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to rank 0. No effect if it has ended."""
        with suppress(OSError):
            self.channel.send_bytes(json.dumps(message).encode())

    def failed_ranks(self) -> dict[int, RankEnd]:
        """Return the end of each other rank that has failed, by its number."""
        ends = {index: other.end() for index, other in enumerate(self.others, start=1)}
        return {index: end for index, end in ends.items() if end is not None and end.has_failed}

    def failed_within(self, timeout_s: float) -> dict[int, RankEnd]:
        """Return :meth:`failed_ranks` once all other ranks have ended, or the time is over."""
        deadline = time.monotonic() + timeout_s
        while any(other.end() is None for other in self.others) and time.monotonic() < deadline:
            # Ranks of other actors answer after a round trip: there is no event to wait for.
            time.sleep(0.05)
        return self.failed_ranks()

    def result_within(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the result of rank 0 without its reports, or None where none comes in time."""
        return result_within(self.channel, timeout_s)

    def ask_to_leave(self, timeout_s: float) -> dict[str, Any]:
        """Interrupt rank 0 wherever it is; return its last result, empty if none comes in time.

        By a signal, since a process within a step or an allocation reads no messages.
        """
        with suppress(ProcessLookupError):
            # Not to the group: loader workers have inherited the handler, and would raise too.
            os.kill(self.pid, LEAVE_SIGNAL)
        return self.result_within(timeout_s) or {}

    def hang_up(self) -> None:
        """Kill all processes and everything they have started. Safe to call more than once."""
        super().hang_up()
        for other in self.others:
            other.hang_up()
        self.others = []
