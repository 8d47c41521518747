"""Whose code a run directory has run."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from orchestrator.sweep.whose import other_owner, whose_code


def test_the_code_is_named_by_its_real_path_and_owner(tmp_path: Path) -> None:
    (tmp_path / "real.py").touch()
    (tmp_path / "a.py").symlink_to(tmp_path / "real.py")
    me = pwd.getpwuid(os.geteuid()).pw_name
    text = f"runs the code of {tmp_path.resolve()}/real.py, which belongs to {me}"
    assert whose_code(tmp_path / "a.py") == text
    assert other_owner(tmp_path / "a.py") == ""


def test_another_users_code_is_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").touch()
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 54321)
    if owner == 0:  # root's code may be run by anyone
        assert whose_code(tmp_path / "a.py").endswith("belongs to root")
        os.chown(tmp_path / "a.py", 54322, -1)
    told = whose_code(tmp_path / "a.py")
    assert f"and not to you, user {owner + 54321}" in told
    assert other_owner(tmp_path / "a.py") in told


def test_nothing_is_said_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert whose_code(tmp_path / "a.py") == other_owner(tmp_path / "a.py") == ""
