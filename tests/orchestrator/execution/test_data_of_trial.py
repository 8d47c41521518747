"""A trial trains on the data that its row names, or on none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import DataFolders
from orchestrator.execution.base import Launch, Source
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.trial import Isolation, TrialResult, TrialState
from tests.orchestrator.execution.supervised import launch_of, run


def launch(folder: Path, words: str, **fields: str) -> Launch:
    """On a node where the set holds these words."""
    (folder / "words.txt").write_text(words)
    made = launch_of(folder, isolation=Isolation.SHARED)
    return replace(
        made,
        trial=replace(made.trial, config={"step": 1}),
        source=Source(file=str(Path(__file__).with_name("counting.py"))),
        folders=DataFolders(root=folder, cache=folder),
        **fields,
    )


def ended(launch: Launch, servers: ForkServers, folder: Path) -> TrialResult:
    return run(launch, servers, CoreLeases(folder / "locks")).result


def test_another_copy_than_the_driver_has_fails_the_trial(
    servers: ForkServers, tmp_path: Path
) -> None:
    same = launch(tmp_path, "one two", data="words", data_fingerprint="one two")
    assert ended(same, servers, tmp_path).metrics["num_words"] == 2

    other = launch(tmp_path, "one two three", data="words", data_fingerprint="one two")
    result = ended(other, servers, tmp_path)
    assert result.state is TrialState.FAILED
    assert "one two three" in result.reason
    assert "where the driver has one two\n" in result.reason


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"data": "made-up", "data_fingerprint": "one"}, id="generated on each node"),
        pytest.param({"data": "words", "data_fingerprint": ""}, id="nothing is claimed"),
    ],
)
def test_what_cannot_be_compared_is_not(
    servers: ForkServers, tmp_path: Path, fields: dict[str, str]
) -> None:
    result = ended(launch(tmp_path, "one two", **fields), servers, tmp_path)
    assert result.state is TrialState.COMPLETED, result.reason
