"""A learning curve in several trials: each resumes from the checkpoint of the pause before it."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.execution.supervision.paused import forget, put_by, take_up
from orchestrator.kernel.executor import Launch
from orchestrator.trial import Budget
from tests.orchestrator.execution.supervised import launch_of


def trial(folder: Path, name: str, *, pause_after: int | None, curve: str = "curve") -> Launch:
    launch = launch_of(folder, name)
    budget = Budget(epochs=9, pause_after=pause_after)
    return replace(launch, trial=replace(launch.trial, budget=budget, curve=curve))


def trained(launch: Launch) -> Launch:
    """Write the files of a trial that has paused."""
    launch.checkpoints.mkdir(parents=True, exist_ok=True)
    (launch.checkpoints / "checkpoint.pt").write_text(launch.trial.id)
    return launch


def test_a_trial_resumes_from_the_last_pause_before_its_own_end(tmp_path: Path) -> None:
    for epochs in (1, 3):
        put_by(trained(trial(tmp_path, f"to-{epochs}", pause_after=epochs)))
    whole = trial(tmp_path, "whole", pause_after=None)
    assert take_up(whole) == 3
    assert (whole.checkpoints / "checkpoint.pt").read_text() == "to-3"
    # Run again, as a driver does that was killed before it had the row: not from its own end.
    assert take_up(trial(tmp_path, "again", pause_after=3)) == 1
    assert take_up(trial(tmp_path, "first", pause_after=1)) == 0


def test_it_may_be_taken_up_again_until_the_curve_is_complete(tmp_path: Path) -> None:
    put_by(trained(trial(tmp_path, "first", pause_after=3)))
    assert [take_up(trial(tmp_path, name, pause_after=None)) for name in ("a", "b")] == [3, 3]
    forget(trial(tmp_path, "a", pause_after=None))
    assert take_up(trial(tmp_path, "c", pause_after=None)) == 0


def test_a_checkpoint_that_cannot_be_read_leaves_nothing_half_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_by(trained(trial(tmp_path, "first", pause_after=3)))

    def full(_source: Path, target: Path) -> None:
        target.mkdir(parents=True)
        raise OSError("no room")

    monkeypatch.setattr("shutil.copytree", full)
    later = trial(tmp_path, "later", pause_after=None)
    with pytest.raises(OSError, match="no room"):
        take_up(later)
    assert not later.checkpoints.exists()


def test_a_checkpoint_without_room_to_keep_it_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_source: Path, target: Path) -> None:
        target.mkdir(parents=True)
        (target / "checkpoint.pt").write_text("the first half")
        raise OSError("no room")

    monkeypatch.setattr("shutil.move", full)
    first = trained(trial(tmp_path, "first", pause_after=3))
    with pytest.raises(OSError, match="no room"):
        put_by(first)
    assert not list(first.curves.iterdir())
    assert take_up(trial(tmp_path, "later", pause_after=None)) == 0


def test_a_damaged_checkpoint_is_set_aside_and_an_earlier_one_taken(tmp_path: Path) -> None:
    for epochs in (1, 3, 5):
        put_by(trained(trial(tmp_path, f"to-{epochs}", pause_after=epochs)))
    whole = trial(tmp_path, "whole", pause_after=None)
    (whole.curves / "curve-5" / "checkpoint.pt").write_text("")
    (whole.curves / "curve-3" / "checkpoint.pt").unlink()
    notes: list[str] = []
    assert take_up(whole, lambda action, why: notes.append(f"{action}: {why}")) == 1
    assert [note.partition(":")[0][-1] for note in notes] == ["5", "3"]
    assert (whole.curves / "curve-5.damaged").is_dir()


def test_a_checkpoint_of_an_earlier_version_has_no_checksum(tmp_path: Path) -> None:
    put_by(trained(trial(tmp_path, "first", pause_after=3)))
    whole = trial(tmp_path, "whole", pause_after=None)
    (whole.curves / "curve-3.crc").unlink()
    assert take_up(whole) == 3
