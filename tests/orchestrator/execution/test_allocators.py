"""An allocator left at its default shows in a trial's faults per step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import DataFolders, Demand
from orchestrator.data import find_data
from orchestrator.execution.base import Source
from orchestrator.execution.cores import CoreLeases
from orchestrator.execution.servers import ForkServers
from orchestrator.sweep import Isolation
from orchestrator.trial import Budget, TrialResult, TrialState
from tests.orchestrator.execution.supervised import launch_of, run
from trainables.lenet import LeNetConfig, lenet

NUM_EPOCHS = 15


@pytest.fixture(scope="module")
def servers() -> Iterator[ForkServers]:
    """Fork servers of either allocator."""
    made = ForkServers()
    made.warm([("tuned", ("torch",)), ("default", ("torch",))])
    yield made
    made.close()


def trained(servers: ForkServers, folder: Path, allocator: str) -> TrialResult:
    folders = DataFolders(root=folder, cache=folder)
    find_data(lenet.data, "digits").prepare(folders, download=False)
    config = LeNetConfig(batch_size=256, data_path="batched", allocator=allocator)
    base = launch_of(folder, allocator, demand=Demand(allocator=allocator))
    launch = replace(
        base,
        trial=replace(base.trial, config=dict(config.__dict__), budget=Budget(epochs=NUM_EPOCHS)),
        source=Source(module="trainables.lenet", attribute="lenet"),
        data="digits",
        folders=folders,
        preload=("torch",),
        isolation=Isolation.SHARED,
    )
    return run(launch, servers, CoreLeases(folder / "locks")).result


def test_the_default_allocator_shows_in_the_faults(servers: ForkServers, tmp_path: Path) -> None:
    """Whether glibc gives memory back in every step is a matter of how it lies: one of three."""
    tuned = faults_per_step(trained(servers, tmp_path, "tuned"))
    default: list[float] = []
    while len(default) < 3 and max(default, default=0) < 10 * tuned:
        default.append(faults_per_step(trained(servers, tmp_path, "default")))
    assert tuned < 200
    assert max(default) > 3 * tuned, (tuned, default)


def faults_per_step(result: TrialResult) -> float:
    assert result.state is TrialState.COMPLETED, result.reason
    return result.metrics["faults_per_step"]
