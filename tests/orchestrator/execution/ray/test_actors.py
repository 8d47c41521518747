"""How many actors a sweep takes: each is two seconds' work beside trials that are timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.tuner import SHORT_S
from orchestrator.trial import TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder


@pytest.fixture(scope="module")
def executor() -> Iterator[RayExecutor]:
    made = RayExecutor(preload=[("tuned", ("torch",))])
    yield made
    made.close()


def actors() -> set[int]:
    """Those of this process's own Ray."""
    found: set[int] = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found |= {process.pid} if "TrialSupervisor" in " ".join(process.cmdline()) else set()
    return found


class Counter(Recorder):
    """Remembers every actor that it sees, and how many trials ran at once."""

    actors: set[int]
    most_at_once = 0

    def look(self) -> None:
        self.actors |= actors()
        running = set(self.was_started) - set(self.results)
        self.most_at_once = max(self.most_at_once, len(running))


def run(executor: RayExecutor, launch_of: LaunchOf, count: int, **knobs: float) -> Counter:
    """Trials of which two fit."""
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


def test_short_trials_take_one_actor(executor: RayExecutor, launch_of: LaunchOf) -> None:
    for _ in range(3):  # the machine may have stood still in one of them
        counter = run(executor, launch_of, 24, step_ms=0.1)
        if max(result.wall_s for result in counter.results.values()) < SHORT_S / 2:
            break
    assert len(counter.actors) == 1


def test_nothing_polls_beside_the_trials_for_machines_or_logs(executor: RayExecutor) -> None:
    names = set()
    for child in psutil.Process().children():
        with suppress(psutil.ZombieProcess):
            names |= {Path(part).name for part in child.cmdline()}
    assert "raylet" in names
    assert not {"monitor.py", "log_monitor.py"} & names


@pytest.mark.slow
def test_long_trials_run_side_by_side(executor: RayExecutor, launch_of: LaunchOf) -> None:
    counter = run(executor, launch_of, 4, step_ms=150.0)
    assert counter.most_at_once == 2
    assert len(counter.actors) == 2, "one that becomes free is not ended and started again"
