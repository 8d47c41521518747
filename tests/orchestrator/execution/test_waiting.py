"""A trial that waits for its cores: it is reported with what it waits for, or it is not run."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from orchestrator.execution import inline
from orchestrator.execution.leases import CoreLeases
from orchestrator.kernel.executor import Executor, TimeBudget
from orchestrator.trial import Isolation, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder


def test_waiting_for_leased_cores_is_reported_and_ends_with_the_time_budget(
    executor: Executor, launch_of: LaunchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.execution.ray import in_flight

    monkeypatch.setattr(inline, "LEASE_REPORT_S", 0.1)
    monkeypatch.setattr(in_flight, "WAIT_REPORT_S", 0.1)
    other_sweep = CoreLeases().acquire(99, Isolation.LEASED, timeout_s=5)
    assert other_sweep is not None
    soon = TimeBudget(seconds=1, ends_at=time.time() + 1)
    conductor = Recorder([replace(launch_of("hasty"), time_budget=soon), launch_of("patient")])

    def release() -> None:
        is_reported = any("held by" in resources for resources in conductor.waited)
        if is_reported and "hasty" in conductor.results:
            other_sweep.release()

    conductor.on_tick = release
    executor.run(conductor)

    # Inline it is this process that holds them and that waits, and it does not name itself.
    what = next(text for text in conductor.waited if "held by" in text)
    assert re.match(r"1 core of this node, held by .*: wait for its end", what)
    assert conductor.results["hasty"].state is TrialState.NOT_RUN
    assert conductor.results["patient"].state is TrialState.COMPLETED
    assert set(conductor.was_started) == {"patient"}
