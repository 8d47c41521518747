"""What a node lacks, said before the first trial. Several nodes: ``tests/orchestrator/cluster``."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from orchestrator.data import DataFolders
from orchestrator.execution.base import Needs, Source
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.node_checks import problems_of_nodes
from tests.orchestrator.sweep_files import written

HERE = platform.node()


@pytest.fixture
def folders(tmp_path: Path) -> DataFolders:
    return DataFolders(root=tmp_path / "data", cache=tmp_path / "cache")


def test_a_node_that_can_run_the_sweep_has_no_problem(
    ray_executor: RayExecutor, tmp_path: Path, folders: DataFolders
) -> None:
    source = Source(file=str(written(tmp_path)))
    needs = Needs(source=source, data="digits", folders=folders, fingerprint="")
    assert list(problems_of_nodes(needs)) == []


def test_data_that_a_node_lacks_are_named_with_the_node(
    ray_executor: RayExecutor, tmp_path: Path, folders: DataFolders
) -> None:
    source = Source(file=str(written(tmp_path)))
    needs = Needs(source=source, data="mnist", folders=folders, fingerprint="")
    (problem,) = problems_of_nodes(needs)
    assert problem.startswith(f"{HERE}: ")
    assert "mnist" in problem


def test_code_that_a_node_lacks_is_named_with_the_node(
    ray_executor: RayExecutor, tmp_path: Path, folders: DataFolders
) -> None:
    sweep = written(tmp_path, header="import not_on_this_node\n")
    needs = Needs(source=Source(file=str(sweep)), data="", folders=folders, fingerprint="")
    (problem,) = problems_of_nodes(needs)
    assert problem.startswith(f"{HERE}: ")
    assert "not_on_this_node" in problem
