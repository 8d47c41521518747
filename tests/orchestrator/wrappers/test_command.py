from pathlib import Path
from typing import Any

import pytest

from orchestrator.wrappers.command import Command, Figures

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


# -- its output


@pytest.mark.parametrize(
    "line",
    [
        "epoch 3: val_acc=0.9 loss: 2e-1",
        "val_acc: 90 %, loss = .2 (3 s)",
        'INFO {"val_acc": 0.9, "loss": 0.2}',
        '{"val_acc": 0.9, "loss": 0.2, "name": "x"}',
        "{'val_acc': 0.9, 'loss': 0.2}",
    ],
)
def test_a_line_with_all_figures_is_a_report(line: str) -> None:
    assert Figures(["val_acc", "loss"]).read(line) == {"val_acc": 0.9, "loss": 0.2}


def test_other_names_and_nested_ones() -> None:
    figures = Figures(["acc", "val/acc"])

    assert figures.read("val_acc=0.5 train/acc=0.7 acc=none") == {}
    assert figures.read('{"acc": 0.1, "val": {"acc": 0.2, "on": [1]}}') == {
        "acc": 0.1,
        "val/acc": 0.2,
    }


def test_a_report_over_several_lines_ends_with_its_last_figure_or_the_next_report() -> None:
    figures = Figures(["a", "b"])

    assert figures.read("samples=10") == {}
    assert figures.read("a=1") == {}
    assert figures.read("b=2") == {"samples": 10, "a": 1, "b": 2}
    assert figures.read("a=3") == {}
    assert figures.read("a=4") == {"a": 3}, "without b"
    assert figures.rest() == {"a": 4}
    assert figures.rest() == {}


def test_a_pattern_has_a_group_a_figure() -> None:
    figures = Figures(["acc"], r"accuracy of (?P<acc>\S+)|(?P<samples>\d+) images")

    assert figures.read("acc=0.3") == {}
    assert figures.read("after 100 images") == {}
    assert figures.read("an accuracy of 0.4") == {"samples": 100, "acc": 0.4}
