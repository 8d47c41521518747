"""What trials take of a Ray cluster, and that nothing of it stays with them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.util import placement_group_table

from orchestrator import Isolation
from orchestrator.execution.ray import tuner as ray_tune
from orchestrator.execution.ray.actors import GATHER_MOST_S, GATHER_S, gather_s
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.node_servers import node_servers
from orchestrator.measurement.time_slices import SLICE_S
from orchestrator.trial import Report, Trial, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder


@pytest.fixture(scope="module")
def executor() -> Iterator[RayExecutor]:
    made = RayExecutor(preload=[("tuned", ("torch",))])
    yield made
    made.close()


@ray.remote
class Holder:
    """Another program's actor on the same cluster."""

    def ready(self) -> None:
        """Returns once it has its CPUs."""


def test_waiting_for_cpus_of_the_cluster_is_said(
    executor: RayExecutor, launch_of: LaunchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_tune, "WAIT_REPORT_S", 0.5)
    holder: Any = Holder.options(num_cpus=ray.cluster_resources()["CPU"]).remote()  # type: ignore[attr-defined]
    ray.get(holder.ready.remote())
    conductor = Recorder([launch_of("patient")])

    def let_go() -> None:
        if conductor.waited:
            ray.kill(holder)

    conductor.on_tick = let_go
    executor.run(conductor)

    assert conductor.waited[0] == (
        "1 CPU and 0 GPU of the Ray cluster, of which 0 CPU and 0 GPU are free"
    )
    assert conductor.results["patient"].state is TrialState.COMPLETED


@pytest.fixture
def told_at(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the driver was told of anything."""
    told_at: list[float] = []
    hear = ray_tune._Bridge.heard

    def heard(bridge: Any, ray_trial: Any, result: dict[str, Any]) -> bool:  # noqa: ANN401
        told_at.append(time.monotonic())
        return hear(bridge, ray_trial, result)

    monkeypatch.setattr(ray_tune._Bridge, "heard", heard)
    return told_at


def test_the_driver_is_told_of_many_reports_at_once(
    executor: RayExecutor, launch_of: LaunchOf, told_at: list[float]
) -> None:
    """Else it and Ray take several per cent of a core that trials measure on."""
    launch = launch_of("talkative", epochs=100, step_ms=1.0, isolation=Isolation.SHARED)
    conductor = Recorder([launch])
    executor.run(conductor)

    seconds = told_at[-1] - told_at[0]
    assert len(conductor.reports["talkative"]) == 100
    assert seconds > 1, "long enough to say anything"
    assert len(told_at) <= 2 + seconds / GATHER_S


@pytest.mark.parametrize(
    ("ran_s", "waits_s"), [(0, 0.5), (25, 0.5), (100, 2.0), (250, 5.0), (86_400, 5.0)]
)
def test_the_longer_it_has_run_the_less_often_the_driver_is_told(
    ran_s: float, waits_s: float
) -> None:
    assert gather_s(ran_s) == pytest.approx(waits_s)


def test_it_is_told_at_once_of_what_several_have_reported_in_their_turns(
    executor: RayExecutor, launch_of: LaunchOf, told_at: list[float]
) -> None:
    first, second = (
        replace(
            launch_of(name, epochs=100, step_ms=3.0, isolation=Isolation.EXCLUSIVE),
            interleaved=True,
        )
        for name in ("first", "second")
    )
    conductor = Recorder([replace(first, others=(second,))])
    executor.run(conductor)

    reports = {name: len(reports) for name, reports in conductor.reports.items()}
    assert reports == {"first": 100, "second": 100}
    seconds = told_at[-1] - told_at[0]
    assert seconds > 12 * SLICE_S, "there were some turns"
    num_starts_and_ends = 2 * 2
    assert len(told_at) <= num_starts_and_ends + 1 + seconds / GATHER_MOST_S


def test_what_trials_left_on_a_node_goes_with_its_servers(
    executor: RayExecutor, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep-of-a-driver-elsewhere"
    servers = node_servers("a session", ray.get_runtime_context().get_node_id(), str(folder))
    ray.get(servers.socket_for.remote("default", ()))
    log = folder / "scratch/logs/trial.log"
    log.parent.mkdir(parents=True)
    log.write_text("its output")
    ray.get(servers.close.remote())
    assert not folder.exists()
    ray.kill(servers)


@pytest.mark.slow
def test_nothing_stays_taken_however_a_trial_ended(
    executor: RayExecutor, launch_of: LaunchOf
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
    executor.run(conductor)

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
    """What is not free of the CPUs and GPUs, and of what placement groups made of them."""
    free = ray.available_resources()
    return {
        name: amount - free.get(name, 0)
        for name, amount in everything.items()
        if name in ("CPU", "GPU") and free.get(name, 0) != amount
    }
