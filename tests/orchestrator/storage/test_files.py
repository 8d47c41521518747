"""A file is whole or as it was, whatever lies beside it and whoever else writes it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from orchestrator.storage.files import renamed_to, replace_file


def text(content: str, path: Path) -> None:
    replace_file(path, lambda beside: beside.write_text(content))


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
    def interrupted(beside: Path) -> NoReturn:
        beside.mkdir()
        (beside / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), renamed_to(tmp_path / "kept") as beside:
        interrupted(beside)
    assert list(tmp_path.iterdir()) == []
