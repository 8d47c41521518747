"""The processes of a trial, one a rank: how they are asked for, and what they must be able to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from orchestrator.execution.base import Launch, Rank
from orchestrator.execution.leases import Lease
from orchestrator.execution.process.messages import free_port
from orchestrator.trial import Isolation


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


def ranks_of(
    launch: Launch, lease: Lease, gpus: Sequence[Sequence[str]], attempt: int
) -> list[Rank]:
    """A trial's ranks, each with its share of the trial's cores.

    Args:
        launch: The trial.
        lease: The cores of all of them; where there are fewer than ranks, some share one.
        gpus: For each rank, the GPUs that it may use.
        attempt: How often the trial has been tried before.
    """
    count = launch.demand.ranks
    master = ("127.0.0.1", free_port()) if count > 1 else None
    share = max(len(lease.cores) // count, 1)
    ranks = []
    for index in range(count):
        own = lease.cores[index * share : (index + 1) * share]
        own = own or (lease.cores[index % len(lease.cores)],)
        rank = Rank(
            index=index,
            world_size=count,
            cores=own if lease.isolation is not Isolation.SHARED else (),
            num_cores=len(own),
            gpus=tuple(gpus[index]) if index < len(gpus) else (),
            master=master,
            attempt=attempt,
        )
        ranks.append(rank)
    return ranks


def request(launch: Launch, rank: Rank, log: Path) -> dict[str, Any]:
    """What a fork server is asked for, to run one rank of a trial."""
    return {"launch": launch.to_json(), "rank": rank.__dict__, "log": str(log)}
