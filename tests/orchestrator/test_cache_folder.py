"""Where converted data is kept: the user's cache, or elsewhere where that cannot be."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from orchestrator import cache_folder as module
from orchestrator.cache_folder import cache_folder, use_for_matplotlib
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


@pytest.mark.parametrize("home", ["/dev/null", f"/{'x' * 300}", "none"])
def test_without_a_home_it_is_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    if home == "none":
        monkeypatch.setattr(module, "_usual_place", lambda: None)
    folder = cache_folder()
    assert folder == tmp_path / f"sweep-cache-{os.geteuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert cache_folder() == folder, "it is found again"


@pytest.mark.parametrize("home", ["/dev/null", f"/{'x' * 300}"])
def test_matplotlib_writes_there_only_where_it_could_not_write_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "")  # so that it is as before after the test
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    use_for_matplotlib()
    assert "MPLCONFIGDIR" not in os.environ
    monkeypatch.setenv("HOME", home)
    use_for_matplotlib()
    assert os.environ["MPLCONFIGDIR"] == str(cache_folder() / "matplotlib")


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
