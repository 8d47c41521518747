"""Paths as users name them, where no shell has read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SweepError
from orchestrator.named_paths import named_path


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/users/me")
    monkeypatch.setenv("SCRATCH", "/scratch/me")
    monkeypatch.setenv("HOMEWARD", "~/x")
    monkeypatch.setenv("EMPTY", "")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a/b", "a/b"), ("/a", "/a"), ("~", "/users/me"), ("~/x", "/users/me/x"),
        ("$SCRATCH", "/scratch/me"), ("$SCRATCH/a b", "/scratch/me/a b"),
        ("${SCRATCH}/a", "/scratch/me/a"), ("$HOMEWARD/y", "/users/me/x/y"),
        ("./$SCRATCH", "$SCRATCH"), ("./~", "~"), ("a/$SCRATCH", "a/$SCRATCH"), ("a~", "a~"),
        ("$SCRATCH-1", "$SCRATCH-1"), ("$", "$"), ("$/x", "$/x"), ("${}/x", "${}/x"),
    ],
)  # fmt: skip
def test_a_home_and_a_variable_at_the_beginning_are_replaced(text: str, path: str) -> None:
    assert named_path(text) == Path(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("$NOWHERE/x", "--out '$NOWHERE/x': the variable NOWHERE is not set"),
        ("${NOWHERE}", "--out '${NOWHERE}': the variable NOWHERE is not set"),
        ("$EMPTY/x", "--out '$EMPTY/x': the variable EMPTY is not set"),
        ("~nobody-of-this-name/x", "--out '~nobody-of-this-name/x': there is no such user"),
    ],
)
def test_what_there_is_not_is_no_name_of_a_folder(text: str, said: str) -> None:
    with pytest.raises(SweepError) as refused:
        named_path(text, "--out")
    assert str(refused.value).splitlines()[0] == said
