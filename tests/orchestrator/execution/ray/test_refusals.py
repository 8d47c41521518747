"""Why Ray does not start, in words."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.execution.ray import refusals
from orchestrator.execution.ray.refusals import CannotStart, require_room, why_not


def limited(monkeypatch: pytest.MonkeyPatch, **limits: tuple[int, int]) -> None:
    """Have these limits, and no other."""
    by_number = {getattr(resource, name): value for name, value in limits.items()}
    free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda number: by_number.get(number, free))


def test_few_files_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, RLIMIT_NOFILE=(64, 100))
    with pytest.raises(CannotStart, match=r"may open 100 files here.*ulimit -n 4096"):
        require_room()
    limited(monkeypatch, RLIMIT_NOFILE=(64, 4096))  # Ray raises it
    require_room()


def test_few_addresses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, RLIMIT_AS=(4 * 2**30, resource.RLIM_INFINITY))
    with pytest.raises(CannotStart, match=r"`ulimit -v` allows a process 4.0 GiB .* maps 8 GiB"):
        require_room()
    limited(monkeypatch, RLIMIT_AS=(8 * 2**30, 8 * 2**30))
    require_room()


def test_few_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(refusals, "_num_tasks_of_user", lambda: 70)
    limited(monkeypatch, RLIMIT_NPROC=(100, 100))
    with pytest.raises(CannotStart, match=r"`ulimit -u` allows 100 .* of which 70 run"):
        require_room()
    limited(monkeypatch, RLIMIT_NPROC=(4096, 4096))
    require_room()


def test_a_path_without_bash_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CannotStart, match="there is no bash in PATH=/nowhere"):
        require_room()


@pytest.mark.skipif(os.geteuid() != 0, reason="a machine without a network takes root's rights")
def test_a_machine_that_does_not_reach_itself_is_refused() -> None:
    code = f"from {refusals.__name__} import require_room; require_room()"
    found = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "127.0.0.1 cannot be reached: Network is unreachable: `ip link" in found.stderr


def test_processes_and_threads_of_this_user_are_counted() -> None:
    assert refusals._num_tasks_of_user() >= 1


@pytest.mark.parametrize(
    ("said", "log", "told"),
    [
        ("[Errno 24] Too many open files", "", "the system refuses a process of Ray: Too many"),
        ("The current node timed out", "x\nbind: Permission denied\n", "refuses .*: Permission"),
        ("The current node timed out during startup", "fine", "the machine is slow or busy"),
        ("its raylet has died", "x\nTimed out waiting for file y\n", "the machine is slow or busy"),
        ("Something else.\nTwo", "", "^Ray says: Something else.$"),
        ("", "", "^Ray says: RuntimeError$"),
    ],
)
def test_the_reason_is_the_kernels_else_rays(
    tmp_path: Path, said: str, log: str, told: str
) -> None:
    logs = tmp_path / "session_1" / "logs"
    logs.mkdir(parents=True)
    (logs / "raylet.err").write_text(log)
    with pytest.raises(CannotStart, match=told):
        raise CannotStart(why_not(RuntimeError(said), tmp_path))


def test_a_raylet_that_ends_with_an_agent_says_so(tmp_path: Path) -> None:
    logs = tmp_path / "session_1" / "logs"
    logs.mkdir(parents=True)
    said = (
        "The raylet exited immediately because one Ray agent failed, agent_name = dashboard_agent."
    )
    (logs / "raylet.out").write_text(f"[C] {said}\n")
    died = TimeoutError("its raylet has died")
    assert why_not(died, tmp_path) == "its raylet has died, since its dashboard_agent has"
    assert why_not(died, tmp_path / "absent") == "its raylet has died"
