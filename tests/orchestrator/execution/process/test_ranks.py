from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator import Demand
from orchestrator.execution.leases import Lease
from orchestrator.execution.process.ranks import ranks_of
from orchestrator.trial import Isolation
from tests.orchestrator.execution.supervised import launch_of


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
    ranks = ranks_of(launch, lease, [()] * num_ranks, attempt=0)
    assert [rank.cores for rank in ranks] == expected
    assert [rank.num_cores for rank in ranks] == [len(own) for own in expected]


def test_ranks_find_each_other_and_their_gpus(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, demand=Demand(ranks=2))
    lease = Lease(cores=(0, 1), isolation=Isolation.LEASED)
    first, second = ranks_of(launch, lease, [("GPU-a",), ("GPU-b",)], attempt=1)
    assert first.master == second.master is not None
    assert second.environment()["CUDA_VISIBLE_DEVICES"] == "GPU-b"
    assert second.environment()["RANK"] == "1"
    assert second.attempt == 1


def test_ranks_of_several_nodes_share_the_cores_of_each(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, demand=Demand(ranks=4, nodes=2))
    lease = Lease(cores=(2, 3), isolation=Isolation.LEASED)
    ranks = ranks_of(launch, lease, [()] * 4, attempt=0, address="127.0.0.1")
    # Which cores the ranks of the other node get its own lease says.
    assert [rank.cores for rank in ranks] == [(2,), (3,), (), ()]
    assert [rank.num_cores for rank in ranks] == [1] * 4
    assert {rank.interface for rank in ranks} == {"lo"}
    assert ranks[3].environment()["GLOO_SOCKET_IFNAME"] == "lo"


def test_the_users_own_interface_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "ib0")
    launch = launch_of(tmp_path, demand=Demand(ranks=2, nodes=2))
    lease = Lease(cores=(2,), isolation=Isolation.LEASED)
    rank, _ = ranks_of(launch, lease, [(), ()], attempt=0)
    variables = rank.environment()
    assert (variables["NCCL_SOCKET_IFNAME"], variables["GLOO_SOCKET_IFNAME"]) == ("ib0", "lo")
