"""``python -m orchestrator init``: the files that it writes, and what it refuses."""

import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.helping import ran
from tests.orchestrator.helpers.in_process import run_main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sweep_and_a_trainable_are_written_and_can_be_planned(folder: Path) -> None:
    done = run_main("init", "./-new/here")

    assert sorted(path.name for path in (folder / "-new/here").iterdir()) == [
        "__init__.py",  # so that a folder called like a package of ours is found
        "my_sweep.py",
        "my_trainable.py",
    ]
    assert "-m orchestrator ./-new/here/my_sweep.py --plan" in done.stdout
    planned = run_main("./-new/here/my_sweep.py", "--plan")
    assert "num_workers: choice(0, 1)" in planned.stdout


def test_nothing_is_written_over(folder: Path) -> None:
    (folder / "my_trainable.py").write_text("mine")

    done = run_main("init", code=2)

    assert done.stderr.startswith("error: init: there is a my_trainable.py in ")
    assert "python -m orchestrator init DIR" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["my_trainable.py"]
    assert (folder / "my_trainable.py").read_text() == "mine"


def test_a_place_that_is_none_is_refused(folder: Path) -> None:
    (folder / "file").touch()
    for place in ("file/below", "n" * 300):
        done = run_main("init", place, code=2)
        assert done.stderr.startswith(f"error: {place}")
        assert ": cannot be used: " in done.stderr


def test_what_is_written_passes_a_linter_in_the_users_repository(folder: Path) -> None:
    run_main("init")
    ruff = str(Path(sys.executable).with_name("ruff"))
    config = ("--no-cache", "--config", str(ROOT / "pyproject.toml"), ".")
    for check in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        ran(ruff, *check, *config, cwd=folder)


SCRIPT = """
import argparse

p = argparse.ArgumentParser()
p.add_argument("data")
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("-j", "--num-workers", type=int, default=0)
p.add_argument("--clip", type=float)
p.add_argument("--layers", nargs="+", type=int, default=[8])
p.add_argument("--amp", action="store_true")
p.add_argument("--epochs", type=int, default=3)
a = p.parse_args()
raise SystemExit("it trains now: val_acc=")
"""


def test_a_sweep_of_a_script_has_its_options(folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPT)

    run_main("init", "--from", "train.py")

    text = (folder / "train_sweep.py").read_text()
    assert '"python train.py --epochs {epochs} {data}"' in text
    assert '"lr": 0.1,' in text
    assert '"clip": None,' in text
    assert "layers" not in text
    assert 'reports=[minimize("report_s"), maximize("val_acc")]' in text
    planned = run_main("train_sweep.py", "--plan")
    assert "num-workers: choice(0, 1, 2, 4)" in planned.stdout
    assert "amp: choice(False, True)" in planned.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [("print(1)", "does not parse options by argparse"), ("import nothing_there", "nothing_there")],
)
def test_a_script_without_a_parser_is_refused(folder: Path, text: str, message: str) -> None:
    (folder / "train.py").write_text(text)

    done = run_main("init", "--from", "train.py", code=2)

    assert message in done.stderr
    assert [path.name for path in folder.iterdir()] == ["train.py"]
