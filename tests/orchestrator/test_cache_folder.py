"""Where converted data is kept: the user's cache, or elsewhere where that cannot be."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from orchestrator.cache_folder import cache_folder
from orchestrator.errors import DataError


@pytest.fixture(autouse=True)
def _nothing_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SWEEP_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_it_is_the_users_cache_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "sweep-orchestrator"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "sweep-orchestrator"
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "y"))
    assert cache_folder() == tmp_path / "y"


@pytest.mark.parametrize("what", ["open to others", "link"])
def test_what_another_may_have_placed_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("HOME", "/dev/null")
    folder = tmp_path / f"sweep-cache-{os.geteuid()}"
    if what == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(DataError, match="not a folder of this user alone") as caught:
        cache_folder()
    assert "SWEEP_CACHE" in caught.value.hint
