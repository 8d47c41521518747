"""A node's fork servers, and what it lacks. Several nodes: ``tests/orchestrator/cluster``."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
import ray

from orchestrator.data import DataFolders
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.nodes import node_servers, problems_of_nodes
from orchestrator.execution.ray.watchdog import Abandoned
from orchestrator.kernel.executor import Needs, Source
from tests.orchestrator.helpers.sweep_files import HEADER, written


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


@pytest.mark.parametrize(
    ("header", "data", "lacks"),
    [
        (HEADER, "digits", ""),
        (HEADER, "mnist", "mnist"),
        ("import not_on_this_node\n", "", "not_on_this"),
    ],
)
def test_what_a_node_lacks_is_named_with_the_node(
    ray_executor: RayExecutor, tmp_path: Path, header: str, data: str, lacks: str
) -> None:
    needs = Needs(
        source=Source(file=str(written(tmp_path, header=header))),
        data=data,
        folders=DataFolders(root=tmp_path / "data", cache=tmp_path / "cache"),
        fingerprint="",
    )
    problems = problems_of_nodes(needs)
    assert len(problems) == bool(lacks)
    for problem in problems:
        assert problem.startswith(f"{platform.node()}: ")
        assert lacks in problem
    with pytest.raises(Abandoned):
        problems_of_nodes(needs, lambda: True)
