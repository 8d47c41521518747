"""Attempts with real processes: whatever happens to them becomes one row."""

import time
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.supervision import attempt as attempts
from orchestrator.execution.supervision.attempt import Attempt
from orchestrator.kernel.executor import SliceEnd, Update
from orchestrator.trial import TrialResult, TrialState
from tests.helping import awaited
from tests.leaks import alive_after
from tests.orchestrator.execution.supervised import (
    attempt_at,
    ended,
    launch_of,
    leases_in,
    newest_process,
    outcome_of,
    wait_for,
)


def next_report(attempt: Attempt) -> Update:
    while (event := attempt.next_event(0.25)) is None:
        pass
    assert isinstance(event, Update), event
    return event


def test_a_report_comes_with_the_row_that_the_trial_has_if_it_ends_now(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, duration_s=0.01)
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        update = next_report(attempt)
        result = outcome_of(attempt)
    assert update.so_far.state is TrialState.STOPPED
    assert update.so_far.metrics["val_acc"] == 0.5
    assert result.state is TrialState.COMPLETED
    assert result.metrics["epochs"] == 1
    assert result.tags["attempts"] == "1"
    assert 0 < result.wall_s < 60


def test_a_result_is_received_although_its_process_has_exited(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, duration_s=0.01)
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        process = newest_process()
        process.wait(timeout=30)
        result = outcome_of(attempt)
    assert result.state is TrialState.COMPLETED, result.reason


def test_a_process_that_was_not_asked_to_leave_is_not_waited_for(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "STOP_GRACE_S", 60.0)
    began = time.monotonic()
    ended(launch_of(tmp_path, act="wait", duration_s=600, time_limit_s=0.1), servers, tmp_path)
    assert time.monotonic() - began < 30


def test_half_a_message_does_not_keep_a_trial_past_its_time_limit(
    servers: ForkServers, tmp_path: Path
) -> None:
    began = time.monotonic()
    result = ended(launch_of(tmp_path, act="mutter", time_limit_s=0.1), servers, tmp_path)
    assert result.reason == "took longer than its time limit of 0.1 s"
    assert time.monotonic() - began < 30


def test_a_trial_over_its_memory_limit_is_infeasible(servers: ForkServers, tmp_path: Path) -> None:
    result = ended(launch_of(tmp_path, act="eat", memory_gib=0.5), servers, tmp_path)
    assert result.state is TrialState.INFEASIBLE
    assert result.reason.startswith("out of memory before its first report: ")
    assert result.reason.endswith(
        "GiB of its own, above the trial's limit of 0.50 GiB (what the sweep gives a trial)"
    )
    assert result.metrics["peak_rss_gib"] > 0.5


def test_a_slice_ends_with_all_processes_stopped(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, duration_s=0.5, in_slices=True)
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        process = newest_process()
        while not isinstance(event := attempt.next_event(0.25), SliceEnd):
            assert not isinstance(event, TrialResult), event
        wait_for(process, psutil.STATUS_STOPPED)
        attempt.begin_slice()
        while not isinstance(event := attempt.next_event(0.25), TrialResult):
            if isinstance(event, SliceEnd):
                attempt.begin_slice()
    assert event.state is TrialState.COMPLETED
    assert event.metrics["train_s"] < event.wall_s


def workers_of(folder: Path) -> list[int]:
    """Process ids of a trial and its two workers, once all three are at work."""
    file = folder / "scratch/pids"

    def found() -> list[int]:
        lines = file.read_text().splitlines() if file.exists() else []
        pids = list(dict.fromkeys(map(int, lines)))
        return pids if len(pids) == 3 and len(lines) > 6 else []

    return awaited(found, "the workers", within_s=60)


def test_closing_kills_workers_too(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, act="loader")
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        trial, *workers = workers_of(tmp_path)
        attempt.close()
        assert not psutil.pid_exists(trial), "it has been waited for"
        assert len(workers) == 2
        assert alive_after(workers, within_s=1) == []
