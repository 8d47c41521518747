"""A run ends, and no trial fails, where its temporary files have no room."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.driver.room import Room


def test_a_folder_with_room_is_left_as_it_is(tmp_path: Path) -> None:
    Room(tmp_path).require()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_has_gone_is_named(tmp_path: Path) -> None:
    room = Room(tmp_path / "gone")
    with pytest.raises(FileNotFoundError, match="temporary files has gone"):
        room.require()
    room.require()  # it was looked at just now
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "gone")):
        room.require(now=True)


def test_no_room_is_an_error() -> None:
    with pytest.raises(OSError, match="/dev/null"):
        Room(Path("/dev/null")).require()
