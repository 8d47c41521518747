"""What lies in the place of a lock file: a link, a pipe, a folder, nothing."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from pathlib import Path

import pytest

from orchestrator.system.lock_files import open_lock


def test_a_lock_file_is_made_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        os.close(open_lock(tmp_path / "a.lock"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.lock").stat().st_mode) == 0o644


def test_what_a_lock_file_holds_stays_and_can_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text("7")
    with os.fdopen(open_lock(tmp_path / "a.lock", writable=True), "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert lock.read() == "7"
        lock.truncate(0)
    assert (tmp_path / "a.lock").read_text() == ""


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("what", ["link", "dangling link", "pipe", "folder", "socket", "device"])
def test_nothing_but_a_plain_file_is_opened(tmp_path: Path, what: str, writable: bool) -> None:
    path, other = tmp_path / "a.lock", tmp_path / "other"
    if what == "link":
        other.write_text("precious")
        path.symlink_to(other)
    elif what == "dangling link":
        path.symlink_to(other)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    else:
        path = Path(os.devnull)
    with pytest.raises(OSError, match="not a plain file") as caught:
        os.close(open_lock(path, writable=writable))
    assert caught.value.filename == str(path)
    assert other.exists() == (what == "link")


def test_a_file_of_a_folder_is_opened_by_the_folders_descriptor(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.close(open_lock("a.lock", folder=folder))
    finally:
        os.close(folder)
    assert (tmp_path / "a.lock").is_file()
