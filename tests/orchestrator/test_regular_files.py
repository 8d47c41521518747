"""Files are read; pipes, sockets, devices and folders are refused, and not waited for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from orchestrator.regular_files import open_regular, read_bytes, read_text, require_regular


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


def test_nothing_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "nothing")
