"""Files are read; pipes, sockets, devices and folders are refused, and not waited for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from orchestrator.regular_files import (
    open_regular,
    open_to_append,
    open_to_change,
    read_bytes,
    read_text,
    require_plain,
    require_regular,
)


def test_a_file_is_read_and_so_is_a_link_to_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("é", encoding="utf-8")
    (tmp_path / "link").symlink_to(path)
    assert read_text(tmp_path / "link") == "é"
    assert read_bytes(path) == "é".encode()
    with open_regular(path) as file:
        assert not file.seekable() or file.read(1)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_what_is_no_file_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        monkeypatch.chdir(tmp_path)  # a socket's path is short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(kind)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    for read in (read_bytes, require_regular, open_regular):
        with pytest.raises(OSError, match=f"it is a {kind}, not a file") as error:
            read(path)
        assert error.value.filename == str(path)
    itself = "link" if kind == "device" else kind
    for write in (require_plain, open_to_append, open_to_change):
        with pytest.raises(OSError, match=f"it is a {itself}, not a plain file") as error:
            write(path)
        assert error.value.filename == str(path)


def test_nothing_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        open_to_change(tmp_path / "nothing")
    require_plain(tmp_path / "nothing")


def test_a_file_is_made_and_appended_to_and_no_link_is_followed(tmp_path: Path) -> None:
    path, link = tmp_path / "log", tmp_path / "link"
    link.symlink_to(path)
    for write in (open_to_append, open_to_change):  # to nothing, then to a file
        with pytest.raises(OSError, match="it is a link, not a plain file"):
            write(link)
        path.touch()
    path.unlink()
    before = os.umask(0o027)
    try:
        for line in (b"first\n", b"second\n"):
            with open_to_append(path) as file:
                file.write(line)
    finally:
        os.umask(before)
    with open_to_change(path) as file:
        assert file.read() == b"first\nsecond\n"
        file.truncate(6)
    assert path.read_text() == "first\n"
    assert path.stat().st_mode & 0o777 == 0o640
