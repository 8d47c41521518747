"""A file is whole or as it was, whatever else is in its folder or writes it."""

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunDirectory, renamed_to, replace_file
from orchestrator.storage.sweep_record import read_sweep
from tests.orchestrator.helpers.on_a_full_disk import no_file_larger_than


def text(content: str, path: Path) -> None:
    replace_file(path, lambda new: new.write_text(content))


def test_a_file_is_replaced_and_has_the_usual_mode(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    before = os.umask(0o027)
    try:
        text("first", path)
        text("second", path)
    finally:
        os.umask(before)
    assert path.read_text() == "second"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_names_the_file_itself_and_nothing_is_left(tmp_path: Path) -> None:
    folder, absent = tmp_path / "report.html", tmp_path / "absent" / "report.html"
    folder.mkdir()

    def without_room(_: Path) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(IsADirectoryError) as caught:
        text("ours", folder)
    assert str(caught.value) == f"[Errno 21] Is a directory: '{folder}'"
    with pytest.raises(FileNotFoundError) as caught_too:
        text("ours", absent)
    assert caught_too.value.filename == str(absent)
    with pytest.raises(OSError, match="No space left") as full:
        replace_file(tmp_path / "full", without_room)
    assert full.value.filename == str(tmp_path / "full")
    assert list(tmp_path.iterdir()) == [folder]


def test_an_interrupt_leaves_nothing_of_a_folder(tmp_path: Path) -> None:
    def interrupted(new: Path) -> NoReturn:
        new.mkdir()
        (new / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), renamed_to(tmp_path / "kept") as new:
        interrupted(new)
    assert list(tmp_path.iterdir()) == []


# -- the folder of a run

LINE = '{"at":1,"event":"note","text":"a line"}\n'


def test_a_second_driver_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match=f"another driver .process {os.getpid()}"):
        RunDirectory(tmp_path / "run")
    first.release()
    RunDirectory(tmp_path / "run").release()


def test_a_folder_that_was_there_or_has_a_journal_is_kept(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    RunDirectory(tmp_path / "there").release()
    assert (tmp_path / "there").is_dir()
    begun = RunDirectory(tmp_path / "begun")
    begun.journal.write_text(LINE)
    begun.release()
    assert begun.journal.exists()


def test_a_folder_that_cannot_be_written_is_refused_at_once_and_removed(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with (
        no_file_larger_than(0),
        pytest.raises(RunDirectoryError, match="cannot be written: File too large") as caught,
    ):
        RunDirectory.new(None, tmp_path / "runs" / "speed")
    assert "make room there" in caught.value.hint
    assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]


def test_each_driver_of_one_second_has_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda _: "now")
    first = RunDirectory.new(None, tmp_path)
    second = RunDirectory.new(None, tmp_path)
    second.journal.write_text(LINE)
    second.release()
    third = RunDirectory.new(None, tmp_path)
    assert [each.path.name for each in (first, second, third)] == ["now", "now-2", "now-3"]
    third.release()
    first.release()


def test_a_folder_of_a_run_that_never_began_takes_a_new_one(tmp_path: Path) -> None:
    RunDirectory.new(tmp_path, tmp_path).release()
    for content in ("", '{"at":1,"ev'):
        (tmp_path / "journal.jsonl").write_text(content)
        RunDirectory.new(tmp_path, tmp_path).release()
    for content in (LINE, "{}\n"):
        (tmp_path / "journal.jsonl").write_text(content)
        with pytest.raises(RunDirectoryError, match="contains a run already"):
            RunDirectory.new(tmp_path, tmp_path)


def test_nothing_of_a_run_that_never_began_is_left_in_a_folder_that_was_there(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine").touch()
    directory = RunDirectory(tmp_path)
    assert not directory.has_begun
    directory.release()
    assert {path.name for path in tmp_path.iterdir()} == {"mine", ".lock"}


@pytest.mark.parametrize("name", ["journal.jsonl", ".lock", "paused", "output/trial.txt"])
def test_no_link_in_a_run_directory_is_followed(tmp_path: Path, name: str) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    (run / name).parent.mkdir(parents=True)
    elsewhere.write_text("a file of the user's")
    (run / name).symlink_to(elsewhere)
    (run / ".venv").symlink_to(elsewhere)  # the user's own
    for opened in (RunDirectory, read_sweep):
        with pytest.raises(RunDirectoryError, match=f"{name}: is a link, which is not followed"):
            opened(run)
    assert elsewhere.read_text() == "a file of the user's"
