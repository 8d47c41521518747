"""What trials have printed, as it is kept in the run directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.driver.outputs import Outputs, Room
from orchestrator.execution.process.ranks import log_in
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState


def trial(name: str) -> Trial:
    return Trial(id=name, stage=Stage.TRAIN, config={}, budget=Budget(epochs=1), seed=0)


def completed(output: str) -> TrialResult:
    return TrialResult(state=TrialState.COMPLETED, output=output)


def test_each_trial_has_a_file_and_one_that_printed_nothing_has_none(tmp_path: Path) -> None:
    kept = Outputs(tmp_path, tmp_path / "scratch", print)
    assert kept.keep("quiet", completed("")) == ""
    assert not (tmp_path / "output").exists()
    assert kept.keep("loud", completed("one\ntwo \udcff\n")) == ""
    assert (tmp_path / "output/loud.txt").read_text() == "one\ntwo ?\n"


def test_what_a_stopped_trial_printed_is_read_where_it_ran(tmp_path: Path) -> None:
    log = log_in(tmp_path / "scratch", "stopped")
    log.parent.mkdir(parents=True)
    log.write_text("epoch 1\n")
    kept = Outputs(tmp_path, tmp_path / "scratch", print)
    kept.keep("stopped", TrialResult(state=TrialState.STOPPED))
    assert (tmp_path / "output/stopped.txt").read_text() == "epoch 1\n"


def test_a_folder_that_has_gone_is_named(tmp_path: Path) -> None:
    room = Room(tmp_path / "gone")
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "gone")):
        room.require()
    room.require()  # it was looked at just now
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "gone")):
        room.require(now=True)


def test_no_room_is_an_error() -> None:
    with pytest.raises(OSError, match="/dev/null"):
        Room(Path("/dev/null")).require()
