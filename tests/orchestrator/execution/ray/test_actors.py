"""Actors of trials: how many a sweep takes, and how often they have the driver work.

An actor's start is two seconds' work, and a message takes the driver's and Ray's time, both
while other trials are timed.
"""

import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

from orchestrator import Isolation
from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.actors import GATHER_S
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.in_flight import LaunchesInFlight
from orchestrator.trial import TrialState
from tests.helping import awaited
from tests.orchestrator.execution.conftest import LaunchOf, Recorder


def test_many_reports_come_in_one_message(
    ray_executor: RayExecutor, launch_of: LaunchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []
    take = LaunchesInFlight.take

    def timed(launches: LaunchesInFlight, *args: Any) -> bool:  # noqa: ANN401
        times.append(time.monotonic())
        return take(launches, *args)

    monkeypatch.setattr(LaunchesInFlight, "take", timed)
    launch = launch_of("talkative", epochs=80, step_ms=1.0, isolation=Isolation.SHARED)
    conductor = Recorder([launch])
    ray_executor.run(conductor)

    assert len(conductor.reports["talkative"]) == 80
    assert len(times) <= 2 + (times[-1] - times[0]) / GATHER_S


def actors() -> set[int]:
    """Return the process ids of this process's own Ray's actors of trials."""
    found: set[int] = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found |= {process.pid} if "TrialSupervisor" in " ".join(process.cmdline()) else set()
    return found


@pytest.mark.slow
def test_long_trials_run_at_the_same_time(ray_executor: RayExecutor, launch_of: LaunchOf) -> None:
    awaited(lambda: not actors(), "the end of another test's")
    num_cores = max(local_machine().cpus // 2, 1)
    # Longer than an actor takes to start, under load too: otherwise it is ended before it is used.
    launches = [launch_of(name, epochs=1, num_cores=num_cores, step_ms=180.0) for name in "abcd"]
    conductor, seen, most = Recorder(launches), set[int](), [0]

    def look() -> None:
        seen.update(actors())
        most.append(len(set(conductor.was_started) - set(conductor.results)))

    conductor.on_tick = look
    ray_executor.run(conductor)
    assert [each.state for each in conductor.results.values()] == [TrialState.COMPLETED] * 4
    assert max(most) == 2
    assert len(seen) == 2, "one that becomes free is not ended and started again"
