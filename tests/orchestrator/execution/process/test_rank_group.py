from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from orchestrator import Demand
from orchestrator.execution.process.fork_client import ForkedProcess, ServerError
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.rank_group import RankGroup
from orchestrator.execution.process.ranks import RankEnd, RankProcess, request
from orchestrator.kernel.executor import Launch, Rank
from tests.leaks import is_alive
from tests.orchestrator.execution.process.serving import forked, server_of
from tests.orchestrator.execution.supervised import PRELOAD, launch_of

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
        assert group.failed_within(60.0) == {2: RankEnd(code=7)}, "all have ended"
    finally:
        group.hang_up()
    assert [other.is_killed for other in others] == [True, True]


@pytest.mark.parametrize(
    ("code", "state", "has_failed"),
    [
        (0, "completed", False),
        (0, "stopped", False),
        (0, "failed", True),
        (0, "infeasible", True),
        (0, None, True),
        (-9, None, True),
    ],
)
def test_a_rank_has_failed_unless_its_training_has_ended(
    code: int, state: str | None, has_failed: bool
) -> None:
    end = MadeRank(11, code, state).end()
    assert end is not None
    assert end.has_failed is has_failed


def test_ranks_are_hung_up_on_where_one_cannot_start(servers: ForkServers, launch: Launch) -> None:
    started: list[RankProcess] = []
    socket = servers.socket_for("tuned", PRELOAD)

    def start(launch: Launch, rank: Rank) -> RankProcess:
        if rank.index == 2:
            raise ServerError("no server for rank 2")
        started.append(ForkedProcess(socket, request(launch, rank)))
        return started[-1]

    with pytest.raises(ServerError, match="no server for rank 2"):
        RankGroup(launch, RANKS, socket, start)
    (second,) = started
    assert not psutil.pid_exists(second.pid)
    with forked(socket, launch.scratch) as other:
        siblings = {process.pid for process in server_of(other).children()} - {other.pid}
        assert [pid for pid in siblings if is_alive(pid)] == [], "nor is rank 0 left"
