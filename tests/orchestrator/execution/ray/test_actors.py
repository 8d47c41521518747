"""Actors of trials: how many a sweep takes, and how often they have the driver work.

An actor's start is two seconds' work, and a message takes the driver's and Ray's time, both
beside trials that are timed.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

from orchestrator import Isolation
from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.actors import GATHER_S, Message, gather_s
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.in_flight import LaunchesInFlight
from orchestrator.kernel.executor import Started
from orchestrator.trial import Report, TrialResult, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder

REPORT = Report(step=3, epoch=1, samples=24, elapsed_s=0.5, metrics={"loss": 1.0}, blocks=[[1, 0]])
RESULT = TrialResult(
    state=TrialState.FAILED, reason="ValueError: no", metrics={"epochs": 1.0}, blocks=[]
)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(Message(), id="nothing"),
        pytest.param(Message(reports=(("a", REPORT), ("b", REPORT)), so_far=RESULT), id="reports"),
        pytest.param(Message(trial_id="a", node="n", start=Started(restored_epochs=2)), id="start"),
        pytest.param(Message(trial_id="a", result=RESULT, notes=("a note",)), id="end"),
        pytest.param(Message(waiting="2 cores"), id="waiting"),
    ],
)
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    assert Message.from_tune(message.to_tune()) == message


def test_a_result_that_tune_has_made_itself_holds_no_message() -> None:
    assert Message.from_tune({"done": True, "trial_id": "of Tune"}) == Message()


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


@pytest.mark.parametrize(("ran_s", "waits_s"), [(0, 0.5), (100, 2.0), (250, 5.0), (86_400, 5.0)])
def test_the_longer_a_launch_has_run_the_fewer_its_messages(ran_s: float, waits_s: float) -> None:
    assert gather_s(ran_s) == pytest.approx(waits_s)


def actors() -> set[int]:
    """Return the process ids of this process's own Ray's actors of trials."""
    found: set[int] = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found |= {process.pid} if "TrialSupervisor" in " ".join(process.cmdline()) else set()
    return found


@pytest.mark.slow
def test_long_trials_run_at_the_same_time(ray_executor: RayExecutor, launch_of: LaunchOf) -> None:
    while actors():  # of another test
        time.sleep(0.1)
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
