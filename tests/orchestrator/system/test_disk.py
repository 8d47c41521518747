"""The private folder: for this user only, and short enough for sockets."""

import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import SweepError
from orchestrator.system.disk import private_folder


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The usual place for temporary files, of a short path."""
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as place:
        monkeypatch.setenv("TMPDIR", place)
        yield Path(place)


def test_it_is_for_this_user_alone_whatever_the_umask_is(usual: Path) -> None:
    before = os.umask(0)
    try:
        folder = private_folder()
    finally:
        os.umask(before)
    assert folder.parent == usual
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_place_too_long_for_sockets_is_left_for_another(
    usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(usual / ("x" * 90)))
    folder = private_folder()
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/0123456789ab.{2**22}")
    finally:
        shutil.rmtree(folder)


def test_a_place_that_cannot_be_written_is_refused(
    usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(usual / "absent"))
    with pytest.raises(SweepError, match="no place for temporary files"):
        private_folder()
