"""What trials take of a Ray cluster, and that nothing of it stays with them."""

from __future__ import annotations

import time

import pytest
import ray
from ray.util import placement_group_table

from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.trial import Report, Trial, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder


@pytest.mark.slow
def test_nothing_stays_taken_however_a_trial_ended(
    ray_executor: RayExecutor, launch_of: LaunchOf
) -> None:
    before = ray.cluster_resources()

    def stop(trial: Trial, report: Report) -> bool:
        return trial.id.startswith("stopped") and report.epoch == 2

    conductor = Recorder(
        [
            launch_of("stopped", epochs=1000, step_ms=10),
            launch_of("stopped ranks", act="ranks", ranks=2, num_cores=2, epochs=1000),
            launch_of("killed", act="segfault"),
            launch_of("past its limit", act="sleep", time_limit_s=1.0),
        ],
        stop_when=stop,
    )
    ray_executor.run(conductor)

    states = {trial: result.state for trial, result in conductor.results.items()}
    assert states == {
        "stopped": TrialState.STOPPED,
        "stopped ranks": TrialState.STOPPED,
        "killed": TrialState.FAILED,
        "past its limit": TrialState.INFEASIBLE,
    }
    deadline = time.monotonic() + 5
    while _taken(before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _taken(before) == {}
    groups = placement_group_table().values()
    assert {group["state"] for group in groups} == {"REMOVED"}


def _taken(everything: dict[str, float]) -> dict[str, float]:
    """Return what is not free of CPUs and GPUs, and of what placement groups made of them."""
    free = ray.available_resources()
    return {
        name: amount - free.get(name, 0)
        for name, amount in everything.items()
        if name in ("CPU", "GPU") and free.get(name, 0) != amount
    }
