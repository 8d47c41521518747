"""The processes of a trial, one a rank: how they are asked for, and what they must be able to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from orchestrator.execution.base import Launch, Rank


class RankProcess(Protocol):
    """A process that trains one rank, on this node.

    Attributes:
        pid: Its number.
    """

    pid: int

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""

    def hang_up(self) -> None:
        """Kills it and everything it has started."""


StartRank = Callable[[Launch, Rank], RankProcess]
"""Starts a rank other than 0."""


def request(launch: Launch, rank: Rank, log: Path) -> dict[str, Any]:
    """What a fork server is asked for, to run one rank of a trial."""
    return {"launch": launch.to_json(), "rank": rank.__dict__, "log": str(log)}
