"""What every executor owes a trial of several ranks."""

from __future__ import annotations

import time
from typing import Any

import psutil
import pytest

from orchestrator import Isolation
from orchestrator.execution.base import Executor
from orchestrator.trial import TrialState
from tests.conftest import ROOT
from tests.leaks import guarding
from tests.orchestrator.execution.conftest import LaunchOf, Recorder, make_launch

TRIALS: dict[str, dict[str, Any]] = {
    "four": {"act": "ranks", "ranks": 4},
    "dies": {"act": "rank_dies", "ranks": 2},
    "no memory": {"act": "rank_without_memory", "ranks": 2, "retries": 1},
    "last": {},
}
START_S = 30.0
"""Trials that have not started within this time wait for cores that there never are."""


@pytest.fixture(scope="module")
def sweep(executor: Executor, tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """What the control loop is told of a sweep of all these, on two cores each."""
    folder = tmp_path_factory.mktemp("ranks")
    settings = {"num_cores": 2, "isolation": Isolation.SHARED}  # never run again for other load
    conductor = Recorder(
        [make_launch(folder, name, **settings | values) for name, values in TRIALS.items()]
    )
    began = time.monotonic()

    def give_up() -> None:
        late = time.monotonic() - began > START_S
        conductor.interrupted = late and len(set(conductor.was_started)) < len(TRIALS)

    conductor.on_tick = give_up
    with guarding(ROOT, fail=pytest.fail):
        executor.run(conductor)
    return conductor


def test_ranks_train_together(sweep: Recorder) -> None:
    result = sweep.results["four"]
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.metrics["total"] == 1 + 2 + 3 + 4


def test_only_rank_0_reports(sweep: Recorder) -> None:
    assert [report.epoch for report in sweep.reports["four"]] == [1, 2]


def test_a_rank_that_dies_ends_the_trial_and_the_next_one_runs(sweep: Recorder) -> None:
    assert sweep.results["dies"].state is TrialState.FAILED
    assert sweep.results["last"].state is TrialState.COMPLETED


def test_memory_that_one_rank_lacks_makes_the_trial_infeasible(sweep: Recorder) -> None:
    result = sweep.results["no memory"]
    assert result.state is TrialState.INFEASIBLE
    assert result.tags["attempts"] == "1"
    assert result.reason.startswith("rank 1: out of memory at step 6, 3 GiB asked for")


def test_there_may_be_more_ranks_than_cores(sweep: Recorder) -> None:
    assert "four" in sweep.was_started, "it waits for cores that there never are"
    assert sweep.results["four"].cores == 2


@pytest.mark.slow
def test_ranks_are_tried_again(executor: Executor, launch_of: LaunchOf) -> None:
    again = launch_of(
        "again", act="rank_dies_once", ranks=2, num_cores=2, retries=1, isolation=Isolation.SHARED
    )  # shared: never contaminated, and so not run a third time
    conductor = Recorder([again, launch_of("next")])
    executor.run(conductor)

    result = conductor.results["again"]
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.tags["attempts"] == "2"
    assert conductor.results["next"].state is TrialState.COMPLETED


@pytest.mark.slow
def test_a_rank_may_end_before_rank_0(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("pair", act="rank_ends_first", ranks=2, num_cores=2)])
    executor.run(conductor)

    result = conductor.results["pair"]
    assert result.state is TrialState.COMPLETED, result.reason


@pytest.mark.slow
def test_stopping_ranks_leaves_nothing(executor: Executor, launch_of: LaunchOf) -> None:
    launches = [
        launch_of(f"pair-{i}", act="ranks", ranks=2, num_cores=2, epochs=1000) for i in range(3)
    ]
    conductor = Recorder(launches, stop_when=lambda _trial, report: report.epoch == 2)
    executor.run(conductor)

    pids = {
        int(reports[0].metrics[f"pid_{rank}"])
        for reports in conductor.reports.values()
        for rank in range(2)
    }
    assert {result.state for result in conductor.results.values()} == {TrialState.STOPPED}
    assert len(pids) == 3 * 2
    deadline = time.monotonic() + 3
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
