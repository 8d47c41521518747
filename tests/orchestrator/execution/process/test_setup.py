from __future__ import annotations

from pathlib import Path

from orchestrator import Isolation
from orchestrator.execution.base import Rank
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.setup import bind
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


def test_a_rank_without_cores_is_not_bound() -> None:
    assert bind(Rank()) == ""


def test_a_core_that_does_not_exist_is_refused() -> None:
    assert bind(Rank(cores=(4095,))) == "Invalid argument"
