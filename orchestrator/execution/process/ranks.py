"""Ranks of a trial: their cores and GPUs, and all their processes."""

import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil

from orchestrator.execution.leases import Lease
from orchestrator.execution.process.fork_client import ForkedProcess, RankEnd
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.trial import Isolation

LOOPBACK = "127.0.0.1"


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


def ranks_of(
    launch: Launch, lease: Lease, gpus: Sequence[Sequence[str]], address: str = LOOPBACK
) -> list[Rank]:
    """Return a trial's ranks, each with its share of the trial's cores.

    Args:
        launch: The trial.
        lease: Cores of the ranks on this node; if there are fewer than ranks, some share one.
        gpus: For each rank, the GPUs that it may use.
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
            part=launch.demand.gpus if launch.demand.shares_gpu else 1.0,
            master=master,
            interface=interface_of(address) if here < count else "",
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


def gpus_of_ranks(nodes: Sequence[Sequence[str]], ranks: int) -> list[Sequence[str]]:
    """Return the GPUs of each rank, from the GPUs of each node with ``ranks`` ranks."""
    return [
        gpus[len(gpus) // ranks * index : len(gpus) // ranks * (index + 1)]
        for gpus in nodes
        for index in range(ranks)
    ]


def _free_port(address: str) -> int:
    """Return a port that is free now. Another process may take it before the trial does."""
    with socket.create_server((address, 0)) as probe:
        return int(probe.getsockname()[1])


def interface_of(address: str) -> str:
    """Return the name of this node's network interface with ``address``, or an empty string."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address == address for each in addresses):
            return name
    return ""


class RankGroup(ForkedProcess):
    """The process of rank 0 of one attempt at a trial, which sends messages, and the others.

    Attributes:
        others: Processes of ranks 1, 2, ...
    """

    def __init__(
        self,
        launch: Launch,
        ranks: Sequence[Rank],
        server: Path,
        start_rank: Callable[[Launch, Rank], RankProcess],
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
        super().__init__(server, launch, ranks[0])
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

    def send(self, message: str) -> None:
        """Send ``slice`` or ``stop`` to rank 0. No effect if it has ended."""
        with suppress(OSError):
            self.channel.send(message)

    def failed_ranks(self, within_s: float = 0.0) -> dict[int, RankEnd]:
        """Return the end of each other rank that has failed, by its number.

        Args:
            within_s: Longest wait for the end of those that run.
        """
        deadline = time.monotonic() + within_s
        while any(other.end() is None for other in self.others) and time.monotonic() < deadline:
            # Ranks of other actors answer after a round trip: there is no event to wait for.
            time.sleep(0.05)
        ends = {index: other.end() for index, other in enumerate(self.others, start=1)}
        return {index: end for index, end in ends.items() if end is not None and end.has_failed}

    def hang_up(self) -> None:
        """Kill all processes and everything they have started. Safe to call more than once."""
        super().hang_up()
        for other in self.others:
            other.hang_up()
        self.others = []
