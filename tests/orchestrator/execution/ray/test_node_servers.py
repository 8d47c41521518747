from __future__ import annotations

from pathlib import Path

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
