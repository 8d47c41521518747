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


class RankGroup:
    """The processes of one attempt at a trial: rank 0, which sends messages, and the others.

    Attributes:
        others: Processes of ranks 1, 2, ...
    """

    def __init__(self, first: ForkedProcess) -> None:
        """Hold rank 0; the others are added as they start."""
        self._first = first
        self.others: list[RankProcess] = []

    @classmethod
    def start(
        cls, launch: Launch, ranks: Sequence[Rank], server: Path, start_rank: StartRank
    ) -> RankGroup:
        """Start a process for each rank.

        Args:
            launch: The trial.
            ranks: All of them, rank 0 first.
            server: Socket of the fork server for rank 0.
            start_rank: Starts the others.

        Raises:
            ServerError: A fork server did not come up.
        """
        group = cls(ForkedProcess(server, request(launch, ranks[0])))
        try:
            for rank in ranks[1:]:
                group.others.append(start_rank(launch, rank))
        except BaseException:
            group.hang_up()  # the ranks that did start would wait for the missing one for ever
            raise
        return group

    @property
    def pids(self) -> list[int]:
        """Process id of each rank on this node."""
        return [self._first.pid, *(other.pid for other in self.others if other.pid)]

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next message of rank 0, or None where none comes in time."""
        return receive(self._first.channel, timeout_s)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to rank 0. No effect if it has ended."""
        with suppress(OSError):
            self._first.channel.send_bytes(json.dumps(message).encode())

    def exit_code(self, timeout_s: float = 0.0) -> int | None:
        """Return the exit code of rank 0, or None while it runs."""
        return self._first.poll(timeout_s)

    def failed_ranks(self) -> dict[int, RankEnd]:
        """Return the end of each other rank that has failed, by its number."""
        ends = {index: other.end() for index, other in enumerate(self.others, start=1)}
        return {index: end for index, end in ends.items() if end is not None and end.has_failed}

    def failed_within(self, timeout_s: float) -> dict[int, RankEnd]:
        """Return the same once all other ranks have ended, or the time is over."""
        deadline = time.monotonic() + timeout_s
        while any(other.end() is None for other in self.others) and time.monotonic() < deadline:
            # Ranks of other actors answer after a round trip: there is no event to wait for.
            time.sleep(0.05)
        return self.failed_ranks()

    def result_within(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the result of rank 0 without its reports, or None where none comes in time."""
        return result_within(self._first.channel, timeout_s)

    def pause(self) -> None:
        """Stop rank 0 and its loader workers. Interleaved trials have no other ranks."""
        self._first.pause()

    def resume(self) -> None:
        """Continue them."""
        self._first.resume()

    def ask_to_leave(self, timeout_s: float) -> dict[str, Any]:
        """Interrupt rank 0 wherever it is; return its last result, empty if none comes in time.

        A signal, since a process amid a step or an allocation reads no messages.
        """
        with suppress(ProcessLookupError):
            # Not to the group: loader workers have inherited the handler, and would raise too.
            os.kill(self._first.pid, LEAVE_SIGNAL)
        return self.result_within(timeout_s) or {}

    def hang_up(self) -> None:
        """Kill all processes and everything they have started. Safe to call more than once."""
        for process in (self._first, *self.others):
            process.hang_up()
        self.others = []
