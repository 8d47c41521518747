"""Whether Ray's processes live: descriptors of our own, doors of a cluster's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import psutil
import pytest
import ray

from orchestrator.execution.ray import watchdog
from orchestrator.execution.ray.watchdog import (
    MOST_FAILURES,
    ClusterProcesses,
    OwnProcesses,
    first_processes,
)


@pytest.fixture
def made_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, psutil.Process]]:
    """Processes with the names of Ray's, an agent below the raylet."""
    made = {}
    monkeypatch.setattr(watchdog, "_FIRST", ("sleep", "sh"))
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


def test_all_live_until_one_dies(made_ray: dict[str, psutil.Process]) -> None:
    processes = OwnProcesses()
    try:
        assert processes.lost() == ""
        made_ray["agent"].kill()
        made_ray["raylet"].wait()
        assert processes.lost().startswith("Ray's agent has died"), "the raylet followed it"
    finally:
        processes.close()


def test_all_are_killed_with_what_is_below_them(made_ray: dict[str, psutil.Process]) -> None:
    processes = OwnProcesses()
    assert set(first_processes()) == {made_ray["gcs"].pid, made_ray["raylet"].pid}
    processes.kill()
    gone, _ = psutil.wait_procs(made_ray.values(), timeout=10)
    assert len(gone) == 3
    assert processes.lost()
    processes.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_cluster_that_does_not_answer_is_lost(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_S", 0.0)
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
        assert cluster.lost() == ""
    answers = [cluster.lost() for _ in range(MOST_FAILURES)]
    assert answers[:-1] == [""] * (MOST_FAILURES - 1), "a host may be busy for a while"
    assert answers[-1] == f"the cluster's GCS at {host}:{port} does not answer"
