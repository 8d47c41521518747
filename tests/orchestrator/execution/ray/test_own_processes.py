"""Whether Ray's processes live: descriptors of our own, doors of a cluster's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import psutil
import pytest
import ray

from orchestrator.execution.ray import own_processes
from orchestrator.execution.ray.own_processes import (
    MOST_FAILURES,
    ClusterProcesses,
    OwnProcesses,
    process_groups,
)


@pytest.fixture
def made_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, psutil.Process]]:
    """Processes with the names of Ray's, an agent below the raylet."""
    made = {}
    monkeypatch.setattr(own_processes, "_FIRST", ("sleep", "sh"))
    gcs = subprocess.Popen(["sleep", "600"], process_group=0)
    raylet = subprocess.Popen(["sh", "-c", "sleep 601; true"], process_group=0)
    made["gcs"], made["raylet"] = psutil.Process(gcs.pid), psutil.Process(raylet.pid)
    while not made["raylet"].children():
        pass
    (made["agent"],) = made["raylet"].children()
    yield made
    for process in (gcs, raylet):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_status(process: psutil.Process, status: str) -> None:
    deadline = time.monotonic() + 20
    while process.status() != status:
        assert time.monotonic() < deadline, process.status()
        time.sleep(0.01)


def test_all_live_until_one_dies(made_ray: dict[str, psutil.Process]) -> None:
    processes = OwnProcesses()
    try:
        assert processes.lost() == ""
        made_ray["agent"].kill()
        made_ray["raylet"].wait()
        assert processes.lost().startswith("Ray's agent has died"), "the raylet followed it"
    finally:
        processes.close()


def test_what_a_signal_has_stopped_goes_on_and_is_told(
    made_ray: dict[str, psutil.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_processes, "STOPPED_S", 0.0)
    processes = OwnProcesses()
    try:
        made_ray["gcs"].suspend()
        made_ray["agent"].suspend()
        await_status(made_ray["agent"], psutil.STATUS_STOPPED)
        assert processes.lost() == ""
        await_status(made_ray["gcs"], psutil.STATUS_SLEEPING)
        await_status(made_ray["agent"], psutil.STATUS_SLEEPING)
        notes = [
            f"Ray's {name} was stopped by a signal, and goes on" for name in ("sleep", "agent")
        ]
        assert processes.take_notes() == notes
        assert processes.take_notes() == []
    finally:
        processes.close()


CRASH = """FileNotFoundError: no such file
[time E] (raylet) The process is dead, probably it crashed during start.
"""


def test_workers_that_end_as_they_start_are_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them while none lives: Ray would try again for ever."""
    monkeypatch.setattr(own_processes, "STOPPED_S", 0.0)
    monkeypatch.setattr(own_processes, "_FIRST", ("sh",))
    lost = "Ray's workers end as they start (FileNotFoundError: no such file)"
    with (tmp_path / "errors").open("a") as errors:
        raylet = subprocess.Popen(
            ["sh", "-c", "read line; sleep 600 & wait"],
            process_group=0,
            stdin=subprocess.PIPE,
            stderr=errors,
        )
        processes = OwnProcesses()
        try:
            (tmp_path / "errors").write_text(CRASH)
            assert processes.lost() == ""
            assert raylet.stdin is not None
            raylet.stdin.write(b"\n")
            raylet.stdin.close()
            while not psutil.Process(raylet.pid).children():
                pass
            assert [processes.lost(), processes.lost()] == ["", ""]
            (tmp_path / "errors").write_text(2 * CRASH)
            assert processes.lost() == "", "a worker lives: those before it do not count"
            (tmp_path / "errors").write_text(4 * CRASH)
            assert processes.lost() == "", "and it lasts"
        finally:
            processes.close()
        processes = OwnProcesses()
        try:
            assert processes.lost() == lost
            assert processes.lost() == lost, "for good"
        finally:
            processes.close()
            with suppress(ProcessLookupError):
                os.killpg(raylet.pid, signal.SIGKILL)
            raylet.wait()


def test_all_are_killed_with_what_is_below_them(made_ray: dict[str, psutil.Process]) -> None:
    processes = OwnProcesses()
    assert set(process_groups()) == {made_ray["gcs"].pid, made_ray["raylet"].pid}
    processes.kill()
    gone, _ = psutil.wait_procs(made_ray.values(), timeout=10)
    assert len(gone) == 3
    assert processes.lost()
    processes.close()


def serve_as_ray(head: socket.socket, answers: Sequence[bytes]) -> None:
    for answer in answers:
        connection, _ = head.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(answer)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_cluster_that_answers_no_more_is_lost(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is stopped as well: the kernel takes connections for it."""
    monkeypatch.setattr(own_processes, "LOOK_S", 0.0)
    monkeypatch.setattr(own_processes, "ANSWER_S", 0.2)
    settings = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    family, shown = (socket.AF_INET6, f"[{host}]") if ":" in host else (socket.AF_INET, host)
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listening as head:
        port = head.getsockname()[1]
        context = SimpleNamespace(gcs_address=f"{shown}:{port}", get_node_id=lambda: "here")
        node = {"NodeID": "here", "NodeManagerAddress": host, "NodeManagerPort": port}
        monkeypatch.setattr(ray, "get_runtime_context", lambda: context)
        monkeypatch.setattr(ray, "nodes", lambda: [node, {**node, "NodeID": "there"}])
        cluster = ClusterProcesses()
        serving = Thread(target=serve_as_ray, args=(head, [settings] * 2))
        serving.start()
        assert [cluster.lost(), *(door.failures for door in cluster._doors)] == ["", 0, 0]
        serving.join()
        answers = [cluster.lost() for _ in range(MOST_FAILURES)]
    assert answers[:-1] == [""] * (MOST_FAILURES - 1), "a host may be busy for a while"
    assert answers[-1] == f"the cluster's GCS at {shown}:{port} answers no more"
    assert cluster.lost() == answers[-1], "where nothing listens either"
