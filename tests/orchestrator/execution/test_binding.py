"""Every thread and worker of a trial is on its cores; when it dies they are free at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.trial import Isolation, TrialState
from tests.orchestrator.execution.supervised import PRELOAD, launch_of, run, supervised

FREE_WITHIN_S = 1.0


@pytest.fixture
def servers() -> Iterator[ForkServers]:
    """A fork server with torch."""
    made = ForkServers()
    made.warm([("tuned", PRELOAD)])
    yield made
    made.close()


def core_of_this_test() -> int:
    return min(os.sched_getaffinity(0))


def leases(tmp_path: Path) -> CoreLeases:
    return CoreLeases(tmp_path / "locks", [core_of_this_test()])


def test_every_thread_and_every_worker_is_bound(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, act="threads", duration_s=0.05)
    result = run(launch, servers, leases(tmp_path)).result
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.metrics["num_threads"] >= 3, "torch's and autograd's among them"
    assert result.metrics["num_sets"] == 1
    assert result.metrics["num_cores"] == 1
    assert result.metrics["core"] == core_of_this_test()
    assert result.tags["core_ids"] == str(core_of_this_test())


def test_a_process_that_cannot_be_bound_goes_on_and_says_so(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_such_core = CoreLeases(tmp_path / "locks", [4095])
    monkeypatch.setattr("orchestrator.execution.leases.binding_refused", lambda _cores: "")
    course = run(launch_of(tmp_path, duration_s=1.2), servers, no_such_core)
    assert course.result.state is TrialState.COMPLETED
    assert course.result.isolation == "shared"
    assert "core_ids" not in course.result.tags
    assert course.notes == ["a process could not be bound to its cores: Invalid argument"]
    assert "contaminated" not in course.result.tags, "of cores that it does not run on"
    assert not {"foreign_share", "steal_share", "others_cores"} & set(course.result.metrics)


def kill_the_trial(_servers: ForkServers, pids: list[int]) -> None:
    os.kill(pids[0], signal.SIGKILL)


def kill_the_server(servers: ForkServers, _pids: list[int]) -> None:
    (server,) = servers._servers.values()
    server.kill()


@pytest.mark.parametrize("kill", [kill_the_trial, kill_the_server])
def test_cores_of_a_killed_trial_are_free_within_a_second(
    servers: ForkServers, tmp_path: Path, kill: Callable[[ForkServers, list[int]], None]
) -> None:
    running = supervised(launch_of(tmp_path, act="loader"), servers, leases(tmp_path))
    assert running.acquire_cores(timeout_s=10)
    running.next_update()
    pids = _trial_and_workers(tmp_path)
    ended = threading.Thread(target=lambda: _to_its_end(running))
    ended.start()
    killed_at = time.monotonic()
    kill(servers, pids)
    lease = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=5)
    waited_s = time.monotonic() - killed_at
    alive = [pid for pid in pids if _is_alive(pid)]
    ended.join()
    assert lease is not None
    lease.release()
    assert waited_s < FREE_WITHIN_S
    assert alive == [], "nobody is left on the cores"


def test_cores_are_given_back_when_the_trial_has_gone_and_not_before(
    servers: ForkServers, tmp_path: Path
) -> None:
    """The kernel takes two GiB apart for a good part of a second, on these very cores."""
    running = supervised(launch_of(tmp_path, act="eat", mib=256), servers, leases(tmp_path))
    assert running.acquire_cores(timeout_s=10)
    running.next_update()
    (member,) = running._members
    trial, deadline = psutil.Process(member.supervisor._process.pid), time.monotonic() + 60
    while trial.memory_info().rss < 2 * 2**30 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.close()
    lease = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    is_left = _is_alive(trial.pid)
    assert lease is not None
    lease.release()
    assert not is_left


def _to_its_end(running: Interleaving) -> None:
    running.next_update()
    running.close()


def _trial_and_workers(tmp_path: Path) -> list[int]:
    """Process ids of the trial and of its two workers, once all three are at work."""
    told, deadline = tmp_path / "scratch/pids", time.monotonic() + 30
    while time.monotonic() < deadline:
        lines = told.read_text().splitlines() if told.exists() else []
        if len(set(lines)) == 3 and len(lines) > 6:
            return list(dict.fromkeys(map(int, lines)))
        time.sleep(0.05)
    pytest.fail("the workers did not start")


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
