from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator import Isolation
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.setup import bind, take_environment
from orchestrator.kernel.executor import Rank
from orchestrator.trial import TrialState
from tests.orchestrator.execution.supervised import (
    attempt_at,
    core_of_this_test,
    launch_of,
    leases_in,
    outcome_of,
)


def test_every_thread_and_every_worker_of_a_trial_is_bound(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, act="threads", duration_s=0.01, isolation=Isolation.LEASED)
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        result = outcome_of(attempt)
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.metrics["num_threads"] >= 3, "torch's and autograd's among them"
    assert result.metrics["num_sets"] == 1
    assert result.metrics["num_cores"] == 1
    assert result.metrics["core"] == core_of_this_test()
    assert result.tags["core_ids"] == str(core_of_this_test())


def test_a_training_function_finds_no_arguments(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, act="parse", duration_s=0.01)
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        result = outcome_of(attempt)
    assert result.state is TrialState.COMPLETED, result.reason


def test_a_rank_without_cores_is_not_bound() -> None:
    assert bind(Rank()) == ""


def test_a_process_has_the_ranks_of_its_trial_and_not_those_of_a_launcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_launchers = {"WORLD_SIZE": "8", "RANK": "3", "LOCAL_WORLD_SIZE": "8", "PMI_SIZE": "8"}
    monkeypatch.setattr(os, "environ", {**os.environ, **of_launchers})
    take_environment(Rank())
    assert not of_launchers.keys() & os.environ.keys()
    take_environment(Rank(index=1, world_size=2, master=("127.0.0.1", 1)))
    assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("1", "2")


def test_a_core_that_does_not_exist_is_refused() -> None:
    assert bind(Rank(cores=(4095,))) == "Invalid argument"
