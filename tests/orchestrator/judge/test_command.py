"""``judge`` of commands, configs and revisions."""

from __future__ import annotations

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


@pytest.mark.slow
def test_revisions_configs_and_commands(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "sweep.py").write_text(SWEEP)
    (tmp_path / "train.sh").write_text(TRAIN)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "old"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    (tmp_path / "train.sh").write_text(f"{TRAIN}9")
    subprocess.run([*git, "commit", "-qam", "new"], cwd=tmp_path, check=True)
    few = ("--pairs", "3")

    revisions = run_cli("judge", "HEAD~1", "HEAD", "sweep.py", "--json", *few)
    configs = run_cli("judge", "speed=200", "baseline", "sweep.py", *few)
    commands = run_cli("judge", "echo x=1", "echo x=1", "--speed", "x", *few)

    assert revisions.returncode == 0, revisions.stderr
    told = json.loads(revisions.stdout)
    assert (told["verdict"], told["accuracy"], told["keep"]) == ("faster", "same", True)
    assert told["ratio"] == pytest.approx(1009 / 100)
    assert len({run["seed"] for run in told["runs"]}) == 3
    assert "about 7 pairs for a change of 3 %" in revisions.stderr
    assert configs.returncode == 3, configs.stderr
    assert configs.stdout.startswith("slower: baseline against speed=200: rate 0.502x")
    assert commands.returncode == 3
    assert commands.stdout.startswith("same within 3 %: echo x=1 against echo x=1: x 1.000x")
    left = subprocess.run(
        ["git", "worktree", "list"], cwd=tmp_path, capture_output=True, check=True
    )
    assert len(left.stdout.splitlines()) == 1


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
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["commit", "-qm", "old", "--allow-empty"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)

    done = run_main("judge", *arguments)

    assert done.returncode == 2
    assert message in done.stderr
