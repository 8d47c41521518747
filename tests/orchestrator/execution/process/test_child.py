"""The data of a trial, the same that its row names, or none; and trials of speed alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import DataFolders
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.kernel.executor import Launch, Needs, Source
from orchestrator.trial import Budget, Stage, TrialResult, TrialState
from tests.orchestrator.execution.supervised import attempt_at, launch_of, leases_in, outcome_of


def launch(folder: Path, words: str, **needs: str) -> Launch:
    """A launch of ``counting.py`` on a node where the set holds these words."""
    (folder / "words.txt").write_text(words)
    made = launch_of(folder)
    return replace(
        made,
        trial=replace(made.trial, config={"step": 1}),
        needs=Needs(
            source=Source(file=str(Path(__file__).with_name("counting.py"))),
            folders=DataFolders(root=folder, cache=folder),
            **{"data": "", "fingerprint": "", **needs},
        ),
    )


def ended(launch: Launch, servers: ForkServers, folder: Path) -> TrialResult:
    with attempt_at(launch, servers, leases_in(folder)) as attempt:
        return outcome_of(attempt)


def test_a_trial_trains_on_the_drivers_data(servers: ForkServers, tmp_path: Path) -> None:
    same = launch(tmp_path, "one two", data="words", fingerprint="one two")
    assert ended(same, servers, tmp_path).metrics["num_words"] == 2


def test_a_trial_that_stops_itself_says_so(servers: ForkServers, tmp_path: Path) -> None:
    result = ended(launch(tmp_path, "stop", data="words"), servers, tmp_path)
    assert result.state is TrialState.STOPPED
    assert result.reason == "its training function raised TrialStopped"


def test_an_exit_with_a_code_comes_with_what_was_written_before(
    servers: ForkServers, tmp_path: Path
) -> None:
    result = ended(launch_of(tmp_path, act="misparse", duration_s=0.01), servers, tmp_path)
    assert result.state is TrialState.FAILED
    assert result.reason.startswith(
        "SystemExit: 2, after it wrote: greedy: error: unrecognized arguments: --unknown\n"
    )


def test_another_copy_than_the_drivers_fails_the_trial(
    servers: ForkServers, tmp_path: Path
) -> None:
    other = launch(tmp_path, "one two three", data="words", fingerprint="one two")
    result = ended(other, servers, tmp_path)
    assert result.state is TrialState.FAILED
    assert "one two three where the driver has one two\n" in result.reason


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"data": "made-up", "fingerprint": "one"}, id="generated on each node"),
        pytest.param({"data": "words", "fingerprint": ""}, id="the driver has none"),
    ],
)
def test_copies_that_cannot_be_compared_are_not(
    servers: ForkServers, tmp_path: Path, fields: dict[str, str]
) -> None:
    result = ended(launch(tmp_path, "one two", **fields), servers, tmp_path)
    assert result.state is TrialState.COMPLETED, result.reason


@pytest.mark.parametrize("evaluated", [True, False])
def test_a_trial_of_speed_alone_ends_without_ceilings_or_a_checkpoint(
    servers: ForkServers, tmp_path: Path, evaluated: bool
) -> None:
    made = launch(tmp_path, "one two three four", data="words")
    budget = Budget(epochs=3, evaluated=evaluated)
    trial = replace(made.trial, budget=budget, stage=Stage.PROBE)
    result = ended(replace(made, trial=trial, ceilings_from_s=0.0), servers, tmp_path)
    assert result.metrics["steps"] == 12
    assert result.tags["batches"]
    assert ("loader_only_samples_per_s" in result.metrics) is evaluated
    assert result.metrics["keeps_checkpoints"] == evaluated
