"""``judge`` of commands, configs and revisions."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.orchestrator.helpers.in_process import run_main

SWEEP = """
from orchestrator import Sweep, choice, from_script, maximize

SWEEP = Sweep(
    from_script("sh train.sh {speed}", config={"speed": 100},
                reports=[maximize("rate"), maximize("acc")]),
    question="?",
    space={"speed": choice(100, 200)},
)
"""
TRAIN = "echo acc=0.9 rate=$1"


GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]


def commit(folder: Path, message: str) -> None:
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", message, "--allow-empty"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_revisions(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "sweep.py").write_text(SWEEP)
    (tmp_path / "train.sh").write_text(TRAIN)
    commit(tmp_path, "old")
    (tmp_path / "train.sh").write_text(f"{TRAIN}9")
    commit(tmp_path, "new")

    done = run_cli("judge", "HEAD~1", "HEAD", "sweep.py", "--json", "--pairs", "2", timeout_s=280)

    answer = json.loads(done.stdout)
    assert (answer["verdict"], answer["accuracy"], answer["keep"]) == ("faster", "same", True)
    assert answer["ratio"] == pytest.approx(1009 / 100)
    assert len({run["seed"] for run in answer["runs"]}) == 2
    assert "about 7 pairs for a change of 3 %" in done.stderr
    assert len(list((tmp_path / ".git" / "worktrees").glob("*"))) == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("speed=200", "baseline", "sweep.py"),
            "slower: baseline against speed=200: rate 0.500x (0.500 to 0.500) over 2 pairs",
        ),
        (
            ("echo x=1", "echo x=1", "--speed", "x"),
            "same within 3 %: echo x=1 against echo x=1: x 1.000x (1.000 to 1.000) over 2 pairs",
        ),
    ],
)
def test_two_configs_or_commands(
    run_cli: RunCli, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "sweep.py").write_text(SWEEP)
    (tmp_path / "train.sh").write_text(TRAIN)

    done = run_cli("judge", *arguments, "--pairs", "2", timeout_s=280, code=3)

    assert done.stdout.startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("HEAD", "no-such-revision", "sweep.py"), "no-such-revision"),
        (("HEAD", "HEAD", "nothing.py"), "nothing.py"),
        (("sped=1", "baseline", "sweep.py"), "did you mean 'speed'?"),
        (("sh -c 'exit 3'", "true"), "the command ended with exit code 3"),
    ],
)
def test_what_cannot_run_is_one_message(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.py").write_text(SWEEP)
    commit(tmp_path, "old")

    done = run_main("judge", *arguments, code=2)

    assert message in done.stderr
