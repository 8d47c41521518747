"""What a node lacks, said before the first trial. Several nodes: ``tests/orchestrator/cluster``."""

from __future__ import annotations

import platform
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.data import DataFolders
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.node_checks import problems_of_nodes
from orchestrator.kernel.executor import ExecutorLost, Needs, Source
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


def test_a_cluster_that_dies_meanwhile_is_not_waited_for(
    ray_executor: RayExecutor, tmp_path: Path, folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = tmp_path / "goes on"
    slow = f"import os, time\nwhile not os.path.exists({str(goes_on)!r}): time.sleep(0.1)\n"
    needs = Needs(
        source=Source(file=str(written(tmp_path, header=slow))),
        data="",
        folders=folders,
        fingerprint="",
    )
    dead = SimpleNamespace(lost=lambda: "the cluster's GCS answers no more", kill=lambda: None)
    monkeypatch.setattr(ray_executor, "_owns_cluster", False)
    monkeypatch.setattr(ray_executor, "_processes", dead)
    monkeypatch.setattr(ray_executor, "_apart", None)  # it is as it was afterwards
    try:
        with pytest.raises(ExecutorLost, match="GCS answers no more"):
            ray_executor.problems_of_nodes(needs)
    finally:
        goes_on.touch()
    assert not ray_executor._apart.is_stuck
