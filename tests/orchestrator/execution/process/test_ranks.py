from pathlib import Path

import psutil
import pytest

from orchestrator import Demand
from orchestrator.execution.leases import Lease
from orchestrator.execution.process.fork_client import ForkedProcess, RankEnd, ServerError
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.ranks import RankGroup, RankProcess, gpus_of_ranks, ranks_of
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.trial import Isolation
from tests.leaks import is_alive
from tests.orchestrator.execution.supervised import PRELOAD, forked, launch_of, server_of


@pytest.mark.parametrize(
    ("cores", "num_ranks", "expected"),
    [
        ((2, 3), 1, [(2, 3)]),
        ((2, 3, 4, 5), 2, [(2, 3), (4, 5)]),
        ((2, 3, 4), 2, [(2,), (3,)]),
        ((2, 3), 4, [(2,), (3,), (2,), (3,)]),
    ],
)
def test_ranks_share_the_cores_of_their_trial(
    tmp_path: Path, cores: tuple[int, ...], num_ranks: int, expected: list[tuple[int, ...]]
) -> None:
    launch = launch_of(tmp_path, demand=Demand(ranks=num_ranks))
    lease = Lease(cores=cores, isolation=Isolation.LEASED)
    ranks = ranks_of(launch, lease, [()] * num_ranks)
    assert [rank.cores for rank in ranks] == expected
    assert [rank.num_cores for rank in ranks] == [len(own) for own in expected]


def test_ranks_find_each_other_and_their_gpus(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, demand=Demand(ranks=2))
    lease = Lease(cores=(0, 1), isolation=Isolation.LEASED)
    first, second = ranks_of(launch, lease, [("GPU-a",), ("GPU-b",)])
    assert first.master == second.master is not None
    assert second.environment()["CUDA_VISIBLE_DEVICES"] == "GPU-b"
    assert second.environment()["RANK"] == "1"


def test_ranks_of_several_nodes_share_the_cores_of_each(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, demand=Demand(ranks=4, nodes=2))
    lease = Lease(cores=(2, 3), isolation=Isolation.LEASED)
    ranks = ranks_of(launch, lease, [()] * 4, address="127.0.0.1")
    # The other node's own lease determines the cores of its ranks.
    assert [rank.cores for rank in ranks] == [(2,), (3,), (), ()]
    assert [rank.num_cores for rank in ranks] == [1] * 4
    assert {rank.interface for rank in ranks} == {"lo"}
    assert ranks[3].environment()["GLOO_SOCKET_IFNAME"] == "lo"


def test_users_own_interface_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "ib0")
    launch = launch_of(tmp_path, demand=Demand(ranks=2, nodes=2))
    lease = Lease(cores=(2,), isolation=Isolation.LEASED)
    rank, _ = ranks_of(launch, lease, [(), ()])
    variables = rank.environment()
    assert (variables["NCCL_SOCKET_IFNAME"], variables["GLOO_SOCKET_IFNAME"]) == ("ib0", "lo")


def test_each_rank_gets_its_part_of_its_nodes_gpus() -> None:
    nodes = [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    assert gpus_of_ranks(nodes, 2) == [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    assert gpus_of_ranks([[], []], 2) == [[], [], [], []]


RANKS = [Rank(index=index, world_size=3) for index in range(3)]


class MadeRank:
    """A rank that has exited, or runs."""

    def __init__(self, pid: int, code: int | None, state: str | None = None) -> None:
        self.pid, self._code, self.is_killed = pid, code, False
        self._result = {"state": state, "reason": ""} if state else None

    def end(self) -> RankEnd | None:
        return None if self._code is None else RankEnd(code=self._code, result=self._result)

    def hang_up(self) -> None:
        self.is_killed = True


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    return launch_of(tmp_path, demand=Demand(ranks=3), act="wait", duration_s=600)


def test_each_other_rank_that_failed_is_found(servers: ForkServers, launch: Launch) -> None:
    others = [MadeRank(11, code=0, state="completed"), MadeRank(12, code=7)]
    group = RankGroup(
        launch, RANKS, servers.socket_for("tuned", PRELOAD), lambda _, rank: others[rank.index - 1]
    )
    try:
        assert group.pids[1:] == [11, 12]
        assert group.poll() is None
        assert group.failed_ranks() == {2: RankEnd(code=7)}
        assert group.failed_ranks(60.0) == {2: RankEnd(code=7)}, "all have ended"
    finally:
        group.hang_up()
    assert [other.is_killed for other in others] == [True, True]


def test_ranks_are_hung_up_on_where_one_cannot_start(servers: ForkServers, launch: Launch) -> None:
    started: list[RankProcess] = []
    socket = servers.socket_for("tuned", PRELOAD)

    def start(launch: Launch, rank: Rank) -> RankProcess:
        if rank.index == 2:
            raise ServerError("no server for rank 2")
        started.append(ForkedProcess(socket, launch, rank))
        return started[-1]

    with pytest.raises(ServerError, match="no server for rank 2"):
        RankGroup(launch, RANKS, socket, start)
    (second,) = started
    assert not psutil.pid_exists(second.pid)
    with forked(socket, launch.scratch) as other:
        siblings = {process.pid for process in server_of(other).children()} - {other.pid}
        assert [pid for pid in siblings if is_alive(pid)] == [], "nor is rank 0 left"
