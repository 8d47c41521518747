"""Ranks of a trial: their cores and GPUs, and the requests that start them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from orchestrator.execution.base import Launch, Rank
from orchestrator.execution.leases import Lease
from orchestrator.trial import Isolation


class RankProcess(Protocol):
    """A process that trains one rank, on this node.

    Attributes:
        pid: Its process id.
    """

    pid: int

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""

    def hang_up(self) -> None:
        """Kill it and everything it has started."""


StartRank = Callable[[Launch, Rank], RankProcess]
"""Starts a rank other than 0."""


def ranks_of(
    launch: Launch, lease: Lease, gpus: Sequence[Sequence[str]], attempt: int
) -> list[Rank]:
    """Return a trial's ranks, each with its share of the trial's cores.

    Args:
        launch: The trial.
        lease: The cores of all of them; where there are fewer than ranks, some share one.
        gpus: For each rank, the GPUs that it may use.
        attempt: Number of earlier attempts at the trial.
    """
    count = launch.demand.ranks
    # All ranks of a trial are on one node.
    master = ("127.0.0.1", _free_port()) if count > 1 else None
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


def request(launch: Launch, rank: Rank) -> dict[str, Any]:
    """Return the request to a fork server that starts one rank of a trial."""
    log = log_of(launch)
    log.parent.mkdir(parents=True, exist_ok=True)
    return {"launch": launch.to_json(), "rank": rank.__dict__, "log": str(log)}


def log_of(launch: Launch) -> Path:
    """Return the file on the node that holds the output of a trial, of all ranks."""
    return log_in(launch.scratch, launch.trial.id)


def log_in(scratch: Path, trial_id: str) -> Path:
    """Return the file that holds the output of a trial whose launch has this ``scratch``."""
    return scratch / "logs" / f"{trial_id}.log"


def _free_port() -> int:
    """Return a port that is free now. Another process may take it before the trial does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
