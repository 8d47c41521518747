from __future__ import annotations

import os

import pytest

from orchestrator.system.cgroup import Cgroups
from orchestrator.system.cores import binding_refused, usable_cores, within_quota


@pytest.mark.parametrize(
    ("quota", "num_cores"), [(None, 4), (9.0, 4), (4.0, 4), (2.9, 2), (1.5, 1), (0.5, 1)]
)
def test_no_more_cores_than_the_quota_pays_for(quota: float | None, num_cores: int) -> None:
    assert len(within_quota([2, 3, 4, 5], quota)) == num_cores


def test_usable_cores_are_those_of_the_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cgroups, "cpu_quota", lambda _: None)
    assert set(usable_cores()) == os.sched_getaffinity(0)


def test_a_trial_of_binding_leaves_the_affinity_as_it_was() -> None:
    before = os.sched_getaffinity(0)
    assert binding_refused([min(before)]) == ""
    assert os.sched_getaffinity(0) == before


def test_a_core_that_does_not_exist_is_refused() -> None:
    assert binding_refused([4095]) == "Invalid argument"
