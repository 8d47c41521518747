"""The data of a trial, the same that its row names, or none; and trials of speed only."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from orchestrator import Isolation
from orchestrator.execution.process.child import limit_threads, take_environment
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.supervision import attempt
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.trial import Budget, Stage, TrialState
from tests.orchestrator.execution.supervised import core_of_this_test, ended, launch_of


def launch(folder: Path, words: str, **needs: str) -> Launch:
    """A launch of ``counting.py`` on a node where the set contains these words."""
    (folder / "words.txt").write_text(words)
    made = launch_of(folder, file=Path(__file__).with_name("counting.py"))
    trial = replace(made.trial, config={"step": 1})
    return replace(made, trial=trial, needs=replace(made.needs, **needs))


def test_a_trial_trains_on_the_drivers_data(servers: ForkServers, tmp_path: Path) -> None:
    same = launch(tmp_path, "one two", data="words", fingerprint="one two")
    assert ended(same, servers, tmp_path).metrics["num_words"] == 2


def test_a_trial_that_stops_itself_gives_the_reason(servers: ForkServers, tmp_path: Path) -> None:
    result = ended(launch(tmp_path, "stop", data="words"), servers, tmp_path)
    assert result.state is TrialState.STOPPED
    assert result.reason == "its training function raised TrialStopped"


def test_another_copy_than_the_drivers_fails_trial(servers: ForkServers, tmp_path: Path) -> None:
    other = launch(tmp_path, "one two three", data="words", fingerprint="one two")
    result = ended(other, servers, tmp_path)
    assert result.state is TrialState.FAILED
    assert "one two three where the driver has one two\n" in result.reason


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"data": "made-up", "fingerprint": "one"}, id="generated on each node"),
        pytest.param({"data": "words", "fingerprint": ""}, id="the driver has none"),
    ],
)
def test_copies_that_cannot_be_compared_are_not(
    servers: ForkServers, tmp_path: Path, fields: dict[str, str]
) -> None:
    result = ended(launch(tmp_path, "one two", **fields), servers, tmp_path)
    assert result.state is TrialState.COMPLETED, result.reason


@pytest.mark.parametrize("evaluated", [True, False])
def test_a_trial_of_speed_alone_ends_without_ceilings_or_a_checkpoint(
    servers: ForkServers, tmp_path: Path, evaluated: bool
) -> None:
    made = launch(tmp_path, "one two three four", data="words")
    budget = Budget(epochs=3, evaluated=evaluated)
    trial = replace(made.trial, budget=budget, stage=Stage.PROBE)
    result = ended(replace(made, trial=trial, ceilings_from_s=0.0), servers, tmp_path)
    assert result.metrics["steps"] == 12
    assert result.tags["batches"]
    assert ("loader_only_samples_per_s" in result.metrics) is evaluated
    assert result.metrics["keeps_checkpoints"] == evaluated


def test_every_thread_and_every_worker_of_a_trial_is_bound(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, act="threads", duration_s=0.01, isolation=Isolation.LEASED)
    result = ended(launch, servers, tmp_path)
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.metrics["num_threads"] >= 3, "torch's and autograd's among them"
    assert result.metrics["num_sets"] == 1
    assert result.metrics["num_cores"] == 1
    assert result.metrics["core"] == core_of_this_test()
    assert result.tags["core_ids"] == str(core_of_this_test())


def test_libraries_have_a_thread_for_each_core(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ended(launch(tmp_path, "one two", data="words"), servers, tmp_path)
    assert (result.tags["threads"], result.metrics["blas_threads"]) == ("1", 1)

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    before = torch.get_num_threads()
    limit_threads(before + 1)
    assert torch.get_num_threads() == before, "the user's number stays"


def test_a_training_function_finds_no_arguments(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, act="parse", duration_s=0.01)
    result = ended(launch, servers, tmp_path)
    assert result.state is TrialState.COMPLETED, result.reason


@pytest.mark.parametrize("after_s", [0.01, 60.0])
def test_exit_handlers_run_and_buffers_are_written_for_a_limited_time(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after_s: float
) -> None:
    monkeypatch.setattr(attempt, "STOP_GRACE_S", 2.0 if after_s < 1 else 0.1)
    launch = launch_of(tmp_path, act="exit", duration_s=0.01, step_ms=1000 * after_s)
    result = ended(launch, servers, tmp_path)
    assert result.state is TrialState.COMPLETED, result.reason
    assert (launch.scratch / "pids").exists() is (after_s < 1)
    assert bool((launch.scratch / "rows").read_text()) is (after_s < 1)


def test_a_process_has_the_ranks_of_its_trial_and_not_those_of_a_launcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_launchers = {"WORLD_SIZE": "8", "RANK": "3", "LOCAL_WORLD_SIZE": "8", "PMI_SIZE": "8"}
    monkeypatch.setattr(os, "environ", {**os.environ, **of_launchers})
    take_environment(Rank())
    assert not of_launchers.keys() & os.environ.keys()
    take_environment(Rank(index=1, world_size=2, master=("127.0.0.1", 1)))
    assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("1", "2")
