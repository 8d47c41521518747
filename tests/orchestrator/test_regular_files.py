"""Files that are written: no link is followed, and no pipe waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.regular_files import open_to_append, open_to_change


def test_a_file_is_appended_to_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in (b"one ", b"two"):
        with open_to_append(path) as file:
            file.write(text)
    with open_to_change(path) as file:
        file.write(b"ONE")
    assert path.read_bytes() == b"ONE two"


@pytest.mark.parametrize("opened", [open_to_append, open_to_change])
def test_a_link_is_refused(tmp_path: Path, opened: Callable[[Path], object]) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        opened(tmp_path / "link")
    assert not (tmp_path / "other").exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        open_to_append(tmp_path / "pipe")
