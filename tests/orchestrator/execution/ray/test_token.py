from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.execution.ray.token import use_token_if_there_is_one


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home folder of a user who has set nothing."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, "")  # so that it is as before after the test
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_without_a_token_ray_is_left_as_it_is() -> None:
    use_token_if_there_is_one()
    assert "RAY_AUTH_MODE" not in os.environ


def test_a_home_folder_that_cannot_be_searched_has_no_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", f"/{'x' * 300}")
    use_token_if_there_is_one()
    assert "RAY_AUTH_MODE" not in os.environ


def test_the_token_in_the_home_folder_is_used(home: Path) -> None:
    (home / ".ray").mkdir()
    (home / ".ray/auth_token").write_text("secret")
    use_token_if_there_is_one()
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_the_token_of_another_path_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "elsewhere").write_text("secret")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(home / "elsewhere"))
    use_token_if_there_is_one()
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_a_mode_that_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    use_token_if_there_is_one()
    assert os.environ["RAY_AUTH_MODE"] == "disabled"
