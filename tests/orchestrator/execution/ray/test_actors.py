"""Actors of trials: how many a sweep takes, and how often they have the driver work.

An actor's start is two seconds' work, and a message takes the driver's and Ray's time, both
beside trials that are timed.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psutil
import pytest

from orchestrator import Isolation
from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.actors import GATHER_MAX_S, GATHER_S, gather_s
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.in_flight import LaunchesInFlight
from orchestrator.kernel.executor import SHORT_S
from orchestrator.measurement.time_slices import SLICE_S
from orchestrator.trial import TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder

# -- messages


@pytest.fixture
def message_times(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Times at which the driver has taken a message that was not a launch's last one."""
    times: list[float] = []
    take = LaunchesInFlight.take

    def timed(launches: LaunchesInFlight, *args: Any) -> bool:  # noqa: ANN401
        times.append(time.monotonic())
        return take(launches, *args)

    monkeypatch.setattr(LaunchesInFlight, "take", timed)
    return times


def test_many_reports_come_in_one_message(
    ray_executor: RayExecutor, launch_of: LaunchOf, message_times: list[float]
) -> None:
    launch = launch_of("talkative", epochs=80, step_ms=1.0, isolation=Isolation.SHARED)
    conductor = Recorder([launch])
    ray_executor.run(conductor)

    seconds = message_times[-1] - message_times[0]
    assert len(conductor.reports["talkative"]) == 80
    assert seconds > 2 * GATHER_S, "long enough for several messages"
    assert len(message_times) <= 2 + seconds / GATHER_S


@pytest.mark.parametrize(
    ("ran_s", "waits_s"), [(0, 0.5), (25, 0.5), (100, 2.0), (250, 5.0), (86_400, 5.0)]
)
def test_the_longer_a_launch_has_run_the_fewer_its_messages(ran_s: float, waits_s: float) -> None:
    assert gather_s(ran_s) == pytest.approx(waits_s)


def test_reports_of_interleaved_trials_wait_longest(
    ray_executor: RayExecutor, launch_of: LaunchOf, message_times: list[float]
) -> None:
    first, second = (
        replace(
            launch_of(name, epochs=30, step_ms=3.0, isolation=Isolation.EXCLUSIVE),
            interleaved=True,
        )
        for name in ("first", "second")
    )
    conductor = Recorder([replace(first, others=(second,))])
    ray_executor.run(conductor)

    reports = {name: len(reports) for name, reports in conductor.reports.items()}
    assert reports == {"first": 30, "second": 30}
    seconds = message_times[-1] - message_times[0]
    assert seconds > 8 * SLICE_S, "there were some time slices"
    num_starts_and_ends = 2 * 2
    assert len(message_times) <= num_starts_and_ends + 1 + seconds / GATHER_MAX_S


# -- actors


def actors() -> set[int]:
    """Return the process ids of this process's own Ray's actors of trials."""
    found: set[int] = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found |= {process.pid} if "TrialSupervisor" in " ".join(process.cmdline()) else set()
    return found


class Counter(Recorder):
    """A conductor that counts the actors, and the trials that run at the same time."""

    actors: set[int]
    max_running = 0

    def look(self) -> None:
        self.actors |= actors()
        running = set(self.was_started) - set(self.results)
        self.max_running = max(self.max_running, len(running))


def run(executor: RayExecutor, launch_of: LaunchOf, count: int, **knobs: float) -> Counter:
    """Run trials of which two fit."""
    while actors():  # of another test
        time.sleep(0.1)
    num_cores = max(local_machine().cpus // 2, 1)
    names = [f"{count}-{index}" for index in range(count)]
    counter = Counter([launch_of(name, epochs=1, num_cores=num_cores, **knobs) for name in names])
    counter.actors = set()
    counter.on_tick = counter.look
    executor.run(counter)
    assert {result.state for result in counter.results.values()} == {TrialState.COMPLETED}
    assert set(counter.results) == set(names)
    return counter


def test_short_trials_take_one_actor(ray_executor: RayExecutor, launch_of: LaunchOf) -> None:
    for _ in range(3):  # the machine may have stood still in one of them
        counter = run(ray_executor, launch_of, 12, step_ms=0.1)
        if max(result.wall_s or 0.0 for result in counter.results.values()) < SHORT_S / 2:
            break
    assert len(counter.actors) == 1


@pytest.mark.slow
def test_long_trials_run_at_the_same_time(ray_executor: RayExecutor, launch_of: LaunchOf) -> None:
    # Longer than an actor takes to start, under load too: otherwise it is ended before it is used.
    counter = run(ray_executor, launch_of, 4, step_ms=180.0)
    assert counter.max_running == 2
    assert len(counter.actors) == 2, "one that becomes free is not ended and started again"
