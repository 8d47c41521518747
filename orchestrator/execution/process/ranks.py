"""Ranks of a trial: their cores and GPUs, and the requests that start them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil

from orchestrator.execution.leases import Lease
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.trial import Isolation, TrialState

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class RankEnd:
    """The way a rank's process has ended.

    Attributes:
        code: Exit code, negative for a signal.
        result: State and reason that it has sent; None if it ended before its training did.
    """

    code: int
    result: Mapping[str, Any] | None = None

    @property
    def has_failed(self) -> bool:
        """True unless its training has completed, or was stopped."""
        states = (TrialState.FAILED, TrialState.INFEASIBLE)
        return self.result is None or self.result["state"] in states


class RankProcess(Protocol):
    """A process that trains one rank.

    Attributes:
        pid: Its process id; 0 on another node.
    """

    pid: int

    def end(self) -> RankEnd | None:
        """Return the way it has ended, or None while it runs."""

    def hang_up(self) -> None:
        """Kill it and everything it has started."""


StartRank = Callable[[Launch, Rank], RankProcess]
"""Starts a rank other than 0."""


def ranks_of(
    launch: Launch,
    lease: Lease,
    gpus: Sequence[Sequence[str]],
    attempt: int,
    address: str = LOOPBACK,
) -> list[Rank]:
    """Return a trial's ranks, each with its share of the trial's cores.

    Args:
        launch: The trial.
        lease: Cores of the ranks on this node; if there are fewer than ranks, some share one.
        gpus: For each rank, the GPUs that it may use.
        attempt: Number of earlier attempts at the trial.
        address: Address of this node for ranks on other nodes.
    """
    count = launch.demand.ranks
    here = count // launch.demand.nodes
    master = (address, _free_port(address)) if count > 1 else None
    ranks = []
    for index in range(count):
        # For ranks on other nodes this is only the number of cores; their node chooses them.
        bound, num_cores = cores_of_rank(lease, index % here, here)
        rank = Rank(
            index=index,
            world_size=count,
            cores=bound if index < here else (),
            num_cores=num_cores,
            gpus=tuple(gpus[index]) if index < len(gpus) else (),
            master=master,
            interface=interface_of(address) if here < count else "",
            attempt=attempt,
        )
        ranks.append(rank)
    return ranks


def cores_of_rank(lease: Lease, index: int, count: int) -> tuple[tuple[int, ...], int]:
    """Return the cores of one of the ranks that share a node's lease.

    Args:
        lease: The lease; if it has fewer cores than ranks, some ranks share one.
        index: Number of the rank on the node.
        count: Number of ranks on the node.

    Returns:
        Cores that it is bound to, none if it is not bound; and their number, in either case.
    """
    share = max(len(lease.cores) // count, 1)
    own = lease.cores[index * share : (index + 1) * share]
    own = own or (lease.cores[index % len(lease.cores)],)
    return (own if lease.isolation is not Isolation.SHARED else ()), len(own)


def request(launch: Launch, rank: Rank) -> dict[str, Any]:
    """Return the request to a fork server that starts one rank of a trial."""
    log = log_of(launch)
    log.parent.mkdir(parents=True, exist_ok=True)
    return {"launch": launch.to_json(), "rank": rank.__dict__, "log": str(log)}


def log_of(launch: Launch) -> Path:
    """Return the file on the node with the output of all ranks of a trial."""
    return log_in(launch.scratch, launch.trial.id)


def log_in(scratch: Path, trial_id: str) -> Path:
    """Return the file with the output of a trial, in the ``scratch`` folder of its launch."""
    return scratch / "logs" / f"{trial_id}.log"


def _free_port(address: str) -> int:
    """Return a port that is free now. Another process may take it before the trial does."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
    return port


def interface_of(address: str) -> str:
    """Return the name of this node's network interface with ``address``, or an empty string."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address == address for each in addresses):
            return name
    return ""
