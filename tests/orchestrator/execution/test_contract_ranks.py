"""The contract of every executor for a trial of several ranks."""

import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Isolation
from orchestrator.kernel.executor import Executor
from orchestrator.trial import TrialState
from tests.conftest import ROOT
from tests.leaks import alive_after, guarding
from tests.orchestrator.execution.conftest import BOTH, Recorder, make_launch

pytestmark = BOTH

TRIALS: dict[str, dict[str, Any]] = {
    "four": {"act": "ranks", "ranks": 4},
    "dies": {"act": "rank_dies"},
    "leaves": {"act": "rank_leaves"},
    "raises": {"act": "rank_raises"},
    "no memory": {"act": "rank_without_memory", "retries": 1},
    "last": {"ranks": 1},
}
START_S = 40.0
"""If none has started or ended for so long, they wait for cores that do not exist."""


MORE: dict[str, dict[str, Any]] = {
    "again": {"act": "rank_dies_once", "retries": 1},
    "stopped-0": {"act": "ranks", "epochs": 1000},
    "stopped-1": {"act": "ranks", "epochs": 1000},
    "next": {"ranks": 1},
}


@pytest.fixture(scope="module")
def sweep(executor: Executor, tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """The calls that the control loop receives from a sweep of all these, on two cores each."""
    return run(executor, tmp_path_factory.mktemp("ranks"), TRIALS)


@pytest.fixture(scope="module")
def more(executor: Executor, tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """The same of a sweep of :data:`MORE`."""
    return run(executor, tmp_path_factory.mktemp("more"), MORE)


def run(executor: Executor, folder: Path, trials: dict[str, dict[str, Any]]) -> Recorder:
    # Shared: never run again for other load.
    settings = {"num_cores": 2, "isolation": Isolation.SHARED, "ranks": 2}
    conductor = Recorder(
        [make_launch(folder, name, **settings | values) for name, values in trials.items()],
        stop_when=lambda trial, report: trial.id.startswith("stopped") and report.epoch == 2,
    )
    known: dict[str, Any] = {"last": (0, 0), "at": time.monotonic()}

    def give_up() -> None:
        counts = len(conductor.was_started), len(conductor.results)
        if counts != known["last"]:
            known.update(last=counts, at=time.monotonic())
        conductor.interrupted = time.monotonic() - known["at"] > START_S

    conductor.on_tick = give_up
    with guarding(ROOT, fail=pytest.fail):
        executor.run(conductor)
    return conductor


def test_ranks_train_together(sweep: Recorder) -> None:
    result = sweep.results["four"]
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.metrics["total"] == 1 + 2 + 3 + 4
    assert result.cores == 2, "there may be more ranks than cores"


def test_a_rank_that_dies_ends_the_trial_and_the_next_one_runs(sweep: Recorder) -> None:
    assert sweep.results["dies"].state is TrialState.FAILED
    assert sweep.results["last"].state is TrialState.COMPLETED


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dies", "rank 1 exited with code 7"),
        ("leaves", "rank 1 exited with code 0 before its training ended"),
        ("raises", "rank 1: ValueError: rank one is unhappy"),
    ],
)
def test_reason_is_that_of_rank_that_failed_first(sweep: Recorder, name: str, reason: str) -> None:
    first, second, *_ = sweep.results[name].reason.splitlines()
    assert first == reason
    assert second.startswith("rank 0: RuntimeError: ")
    assert "peer" in second


def test_memory_that_one_rank_lacks_makes_the_trial_infeasible(sweep: Recorder) -> None:
    result = sweep.results["no memory"]
    assert result.state is TrialState.INFEASIBLE
    assert result.tags["attempts"] == "1"
    assert result.reason.startswith("rank 1: out of memory at step 6: MemoryError")


@pytest.mark.slow
def test_ranks_are_tried_again(more: Recorder) -> None:
    result = more.results["again"]
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.tags["attempts"] == "2"
    assert more.results["next"].state is TrialState.COMPLETED


@pytest.mark.slow
def test_stopping_ranks_leaves_nothing(more: Recorder) -> None:
    stopped = [name for name in MORE if name.startswith("stopped")]
    pids = {
        int(more.reports[name][0].metrics[f"pid_{rank}"]) for name in stopped for rank in range(2)
    }
    assert {more.results[name].state for name in stopped} == {TrialState.STOPPED}
    assert len(pids) == 2 * 2
    assert alive_after(pids, within_s=3) == []
