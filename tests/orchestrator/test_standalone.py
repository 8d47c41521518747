"""Trainables on their own: what a command line may say."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from orchestrator.execution.leases import CoreLeases
from orchestrator.trial import Isolation
from tests.conftest import ROOT, RunCli
from tests.helping import python
from trainables.lenet import LeNet

FILE = """
from orchestrator import Run, Trainable, both, knobs, maximize

@knobs
class Config:
    lr: float = both(default=0.1, doc="")
    seed: int = both(default=1, doc="called as an option is")

def train(config: Config, run: Run) -> None:
    from my_words import WORD
    for _ in run.epochs():
        for _ in run.batches([1], samples=lambda _: 1):
            pass
        run.report(val_acc=config.lr)
    print(WORD, config.seed)

mine = Trainable(train, Config, reports=[maximize("val_acc")], preload=())

if __name__ == "__main__":
    from orchestrator.standalone import main
    main(mine)
"""


def test_a_file_of_ones_own_is_a_command_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/mine.py").write_text(FILE)
    (tmp_path / "models/my_words.py").write_text("WORD = 'from beside it'\n")

    def run(*words: str) -> str:
        done = python("models/mine.py", *words, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("--help").startswith("usage: python models/mine.py ")
    told = run("--lr", "0.5", "--knob-seed", "3")
    assert "completed" in told
    assert "from beside it 3" in told


def test_cores_of_another_program_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE.replace("from my_words import WORD", "WORD = 'run'"))
    environment = {"PYTHONPATH": str(ROOT), "SWEEP_LEASES": str(tmp_path / "leases")}
    others = CoreLeases(tmp_path / "leases").acquire(99, Isolation.LEASED, timeout_s=5)
    done = python("mine.py", cwd=tmp_path, variables=environment, check=False, timeout=60)
    others.release()
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "held by" in line)
    assert f"process {os.getpid()}" in line
    assert line.endswith("trials run with isolation shared")


def test_knobs_without_effect_are_noted(run_cli: RunCli) -> None:
    arguments = "--data digits --steps 1 --data-path batched --prefetch-factor 4 --ranks 2"
    finished = run_cli(*arguments.split(), module="trainables.lenet")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    first = finished.stderr.splitlines()[0]  # where other load contaminates it there is another
    assert first == "NOTE: without effect beside the other knobs: prefetch_factor=4, ranks=2"


# -- its weights

QUICK = ["--data", "digits", "--steps", "2", "--data-path", "resident"]


def test_a_trainable_on_its_own_keeps_its_weights(run_cli: RunCli, tmp_path: Path) -> None:
    finished = run_cli(*QUICK, "--save", "lenet.pt", module="trainables.lenet")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.startswith("data: digits (")
    assert "10 classes)" in finished.stdout
    saved = torch.load(tmp_path / "lenet.pt", weights_only=True)
    LeNet().load_state_dict(saved["state"]["network"])
    assert saved["data"] == "digits"
    assert [path.name for path in tmp_path.iterdir()] == ["lenet.pt"]
