from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.wrappers.command import Command

OF_TRIAL = {"epochs": 3, "steps": None, "seed": 7, "cores": 2, "trial_id": "ab", "folder": "/t"}


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("run --lr {lr}", {"lr": 0.1}, "run --lr 0.1"),
        ("run --epochs={epochs} {seed}", {}, "run --epochs=3 7"),
        ("run -o 'a b' {{x}}", {}, "run -o a b {x}"),
        ("run m.lr={m[lr]}", {"m": {"lr": 1}}, "run m.lr=1"),
        ("run --steps {steps} --warm {warm} x", {"warm": None}, "run x"),
        ("run {first} {second}", {"first": "a", "second": None}, "run a"),
        ("run", {"amp": True, "fast": False, "clip": None, "n": 2}, "run --amp --n 2"),
    ],
)
def test_the_words_of_a_config(text: str, values: dict[str, Any], expected: str) -> None:
    words = Command(text, list(values)).words({**OF_TRIAL, **values})

    assert " ".join(words) == expected


def test_names_of_files_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)

    command = Command("python train.py other.py", [])

    assert command.words(OF_TRIAL) == ["python", str(tmp_path / "train.py"), "other.py"]
    assert command.files == [tmp_path / "train.py"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run {wrokers}", "{wrokers} has no value; did you mean 'workers'?; allowed: workers, ep"),
        ("run '{workers}", "No closing quotation"),
        ("", "it has no words"),
    ],
)
def test_a_wrong_command_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        Command(text, ["workers"])

    assert message in str(refused.value)
