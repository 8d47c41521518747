"""Attempts with real processes: whatever happens to them becomes one row."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.ranks import log_of
from orchestrator.execution.supervision import attempt as attempts
from orchestrator.execution.supervision import attempt_monitor
from orchestrator.execution.supervision.attempt import Attempt
from orchestrator.kernel.executor import Launch, SliceEnd, Update
from orchestrator.trial import Isolation, TrialResult, TrialState
from tests.leaks import alive_after
from tests.orchestrator.execution.process.serving import wait_for
from tests.orchestrator.execution.supervised import (
    attempt_at,
    launch_of,
    leases_in,
    newest_process,
    outcome_of,
)


def ended(launch: Launch, servers: ForkServers, folder: Path) -> TrialResult:
    """The row of an attempt that nothing is done to."""
    with attempt_at(launch, servers, leases_in(folder)) as attempt:
        return outcome_of(attempt)


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
    assert result.wall_s is not None
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


def test_a_killed_process_fails(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, act="wait", duration_s=600)
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        newest_process().kill()
        result = outcome_of(attempt)
    assert result.state is TrialState.FAILED
    assert result.reason.startswith("the training process was killed by signal 9")


def test_the_reason_of_a_failure_ends_with_the_output(servers: ForkServers, tmp_path: Path) -> None:
    result = ended(launch_of(tmp_path, act="raise"), servers, tmp_path)
    assert result.state is TrialState.FAILED
    assert result.reason.startswith("ValueError: asked to\n")
    assert "about to raise" in result.reason


def test_a_time_limit_ends_a_trial_that_reports_all_the_time(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, epochs=10_000, duration_s=0.01, time_limit_s=0.3)
    result = ended(launch, servers, tmp_path)
    assert (result.state, result.reason) == (
        TrialState.INFEASIBLE,
        "took longer than its time limit of 0.3 s",
    )


def test_a_process_that_was_not_asked_to_leave_is_not_waited_for(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "STOP_GRACE_S", 60.0)
    began = time.monotonic()
    ended(launch_of(tmp_path, act="wait", duration_s=600, time_limit_s=0.1), servers, tmp_path)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("act", "state"), [("wait", TrialState.FAILED), ("burn", TrialState.COMPLETED)]
)
def test_a_process_without_a_message_is_stuck_unless_it_works(
    servers: ForkServers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: str,
    state: TrialState,
) -> None:
    monkeypatch.setattr(attempt_monitor, "STALL_LIMIT_S", 0.8)
    result = ended(launch_of(tmp_path, act=act, duration_s=2.0), servers, tmp_path)
    assert result.state is state, result.reason
    assert ("used under 1% of a core" in result.reason) == (state is TrialState.FAILED)


def test_a_trial_over_its_memory_limit_keeps_what_it_measured(
    servers: ForkServers, tmp_path: Path
) -> None:
    result = ended(launch_of(tmp_path, act="eat", memory_gib=0.5), servers, tmp_path)
    assert result.state is TrialState.INFEASIBLE
    assert result.reason.startswith("out of memory at step ")
    assert result.reason.endswith(
        "GiB of its own, above the trial's limit of 0.50 GiB (what the sweep gives a trial)"
    )
    assert result.metrics["steps"] > 3, "its last figures, which it sent when asked to leave"
    assert result.metrics["peak_rss_gib"] > 0.5


def test_one_trial_over_its_limit_takes_no_other_with_it(
    servers: ForkServers, tmp_path: Path
) -> None:
    results: dict[str, TrialResult] = {}

    def go(name: str, **knobs: object) -> None:
        launch = launch_of(tmp_path, name, memory_gib=0.5, **knobs)
        results[name] = ended(launch, servers, tmp_path)

    eater = threading.Thread(target=go, args=("eater",), kwargs={"act": "eat"})
    eater.start()
    go("other", duration_s=1.0)
    eater.join()
    assert results["eater"].state is TrialState.INFEASIBLE
    assert results["other"].state is TrialState.COMPLETED


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("refused", "out of memory at step 4, 7.5 GiB asked for: MemoryError"),
        ("overask", "out of memory at step 4, 1048576.00 GiB asked for: RuntimeError"),
    ],
)
def test_an_allocation_that_is_refused_makes_the_trial_infeasible(
    servers: ForkServers, tmp_path: Path, act: str, reason: str
) -> None:
    result = ended(launch_of(tmp_path, act=act), servers, tmp_path)
    assert result.state is TrialState.INFEASIBLE
    assert result.reason.startswith(reason)


def test_a_process_that_cannot_be_bound_goes_on(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.execution.leases.binding_refused", lambda _cores: "")
    no_such_core = CoreLeases(tmp_path / "locks", [4095])
    launch = launch_of(tmp_path, duration_s=0.6, isolation=Isolation.LEASED)
    with attempt_at(launch, servers, no_such_core) as attempt:
        result = outcome_of(attempt)
        notes = attempt.notes
    assert result.state is TrialState.COMPLETED
    assert result.isolation == "shared"
    assert notes == ["a process could not be bound to its cores: Invalid argument"]
    assert not {"core_ids", "contaminated"} & set(result.tags), "of cores it does not run on"
    assert not {"foreign_share", "steal_share", "others_cores"} & set(result.metrics)


def test_a_slice_ends_with_all_processes_stopped(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, duration_s=0.5, interleaved=True)
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        process = newest_process()
        while not isinstance(event := attempt.next_event(0.25), SliceEnd):
            assert not isinstance(event, TrialResult), event
        wait_for(process, psutil.STATUS_STOPPED)
        attempt.resume()
        while not isinstance(event := attempt.next_event(0.25), TrialResult):
            if isinstance(event, SliceEnd):
                attempt.resume()
    assert event.state is TrialState.COMPLETED
    assert event.tags["interleaved"] == "true"
    assert event.wall_s is not None
    assert event.metrics["train_s"] < event.wall_s


def workers_of(folder: Path) -> list[int]:
    """Process ids of a trial and its two workers, once all three are at work."""
    pids, deadline = folder / "scratch/pids", time.monotonic() + 60
    while time.monotonic() < deadline:
        lines = pids.read_text().splitlines() if pids.exists() else []
        if len(set(lines)) == 3 and len(lines) > 6:
            return list(dict.fromkeys(map(int, lines)))
        time.sleep(0.02)
    pytest.fail("the workers did not start")


def test_closing_kills_workers_too(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, act="loader")
    with attempt_at(launch, servers, leases_in(tmp_path)) as attempt:
        trial, *workers = workers_of(tmp_path)
        attempt.close()
        assert not psutil.pid_exists(trial), "it has been waited for"
        assert len(workers) == 2
        assert alive_after(workers, within_s=1) == []


def test_a_process_that_a_trial_started_does_not_outlive_it(
    servers: ForkServers, tmp_path: Path
) -> None:
    result = ended(launch_of(tmp_path, act="spawn", duration_s=0.01), servers, tmp_path)
    assert result.state is TrialState.FAILED
    assert alive_after([int((tmp_path / "scratch/pids").read_text())], within_s=1) == []


def test_cores_of_a_killed_trial_are_free_when_its_row_is_there(
    servers: ForkServers, tmp_path: Path
) -> None:
    leases = leases_in(tmp_path)
    launch = launch_of(tmp_path, act="loader", isolation=Isolation.LEASED)
    with attempt_at(launch, servers, leases) as attempt:
        trial, *workers = workers_of(tmp_path)
        os.kill(trial, signal.SIGKILL)
        assert outcome_of(attempt).state is TrialState.FAILED
    assert alive_after(workers, within_s=1) == []
    lease = leases.acquire(1, Isolation.LEASED, timeout_s=0)
    assert lease is not None, "no worker has inherited the lock"
    lease.release()


def test_without_the_folder_of_the_server_nothing_starts(tmp_path: Path) -> None:
    class Gone(ForkServers):
        def __init__(self) -> None:
            pass

        def socket_for(self, allocator: str, modules: object) -> Path:
            return tmp_path / "gone" / "socket"

    launch = launch_of(tmp_path, retries=1)
    with (
        pytest.raises(ServerError, match="gone has gone, and with it the driver"),
        attempt_at(launch, Gone(), leases_in(tmp_path)),
    ):
        pass
    assert not log_of(launch).exists()
