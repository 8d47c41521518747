"""A trial that cannot start is reported with what it waits for; nothing hangs in silence."""

from __future__ import annotations

import pytest

from orchestrator.execution import inline, ray_actors
from orchestrator.execution.base import Executor
from orchestrator.execution.cores import CoreLeases
from orchestrator.sweep import Isolation
from orchestrator.trial import TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder


@pytest.mark.slow
def test_waiting_for_leased_cores_is_said(
    executor: Executor, launch_of: LaunchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline, "LEASE_REPORT_S", 0.5)
    assert ray_actors.LEASE_SLICE_S <= 10
    leases = CoreLeases()
    other_sweep = leases.acquire(99, Isolation.LEASED, timeout_s=5)
    assert other_sweep is not None
    conductor = Recorder([launch_of("patient")])

    def release() -> None:
        if conductor.waited:
            other_sweep.release()

    conductor.on_tick = release
    executor.run(conductor)

    assert "cores that another sweep on this node has leased" in conductor.waited[0]
    assert conductor.results["patient"].state is TrialState.COMPLETED
