from __future__ import annotations

import pytest

from orchestrator.execution import core_policy
from orchestrator.execution.core_policy import DRIVER_FROM_CORES, leasable_cores, trial_cores
from orchestrator.system.topology import Core


def on_node(monkeypatch: pytest.MonkeyPatch, usable: tuple[int, ...], num_physical: int) -> None:
    """Make up a node. Linux numbers the first hardware threads of all cores before the second."""
    topology = {core: Core(physical=core % num_physical) for core in usable}
    monkeypatch.setattr(core_policy, "usable_cores", lambda: usable)
    monkeypatch.setattr(core_policy, "read_topology", lambda _: topology)


@pytest.mark.parametrize("num_cores", [1, 2, 3, 4, 16])
def test_one_core_is_kept_for_the_driver_where_there_are_enough(
    monkeypatch: pytest.MonkeyPatch, num_cores: int
) -> None:
    usable = tuple(range(num_cores))
    on_node(monkeypatch, usable, num_physical=num_cores)
    num_kept = 1 if num_cores >= DRIVER_FROM_CORES else 0
    assert trial_cores() == usable[: num_cores - num_kept]


@pytest.mark.parametrize("num_physical", [4, 8])
def test_both_threads_of_the_drivers_core_are_kept(
    monkeypatch: pytest.MonkeyPatch, num_physical: int
) -> None:
    usable = tuple(range(2 * num_physical))
    on_node(monkeypatch, usable, num_physical)
    kept = set(usable) - set(trial_cores())
    assert len(kept) == 2
    assert len({core % num_physical for core in kept}) == 1


def test_of_few_physical_cores_one_thread_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    on_node(monkeypatch, (0, 1, 2, 3), num_physical=2)
    assert len(trial_cores()) == 3


def test_under_a_quota_any_allowed_core_may_be_leased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_policy.os, "sched_getaffinity", lambda _: set(range(8)))
    on_node(monkeypatch, (0, 1), num_physical=8)
    assert leasable_cores() == tuple(range(8))


def test_without_a_quota_the_drivers_core_is_not_leased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_policy.os, "sched_getaffinity", lambda _: set(range(8)))
    on_node(monkeypatch, tuple(range(8)), num_physical=8)
    assert leasable_cores() == tuple(range(7))
