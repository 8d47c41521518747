from __future__ import annotations

import time
from pathlib import Path

import psutil
import ray

from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.node_servers import node_servers


def test_what_trials_left_on_a_node_goes_with_its_servers(
    ray_executor: RayExecutor, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep-of-a-driver-elsewhere"
    servers = node_servers("a session", ray.get_runtime_context().get_node_id(), str(folder))
    ray.get(servers.socket_for.remote("default", ()))
    log = folder / "scratch/logs/trial.log"
    log.parent.mkdir(parents=True)
    log.write_text("its output")
    ray.get(servers.close.remote())
    assert not folder.exists()
    ray.kill(servers)


def test_what_a_signal_has_stopped_on_a_node_goes_on(
    ray_executor: RayExecutor, tmp_path: Path
) -> None:
    """Fork servers and actors of the sweep: nobody else on that node knows of them."""
    node = ray.get_runtime_context().get_node_id()
    both = [node_servers(name, node, str(tmp_path / name)) for name in ("one", "two")]
    try:
        for servers in both:
            ray.get(servers.socket_for.remote("default", ()))
        below = psutil.Process().children(recursive=True)
        stopped = [each for each in below if "NodeServers" in " ".join(each.cmdline())]
        assert len(stopped) == len(both)
        stopped += [each for server in stopped for each in server.children()]
        assert len(stopped) == 2 * len(both), "a fork server each"
        for each in stopped:
            each.suspend()
            deadline = time.monotonic() + 30
            while each.status() != psutil.STATUS_STOPPED:
                pass
            while each.status() == psutil.STATUS_STOPPED:
                assert time.monotonic() < deadline, each.cmdline()
                time.sleep(0.1)
    finally:
        for servers in both:
            ray.kill(servers)
