"""Trainables without a sweep: the command line."""

import os
from pathlib import Path

import torch

from orchestrator.execution.leases import CoreLeases
from orchestrator.trial import Isolation
from tests.conftest import RunCli
from tests.helping import Done, python
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


def test_a_file_of_ones_own_is_a_command_from_any_folder_and_waits_for_no_cores(
    tmp_path: Path,
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/mine.py").write_text(FILE)
    (tmp_path / "models/my_words.py").write_text("WORD = 'from beside it'\n")
    variables = {"SWEEP_LEASES": str(tmp_path / "leases")}

    def run(*words: str) -> Done:
        return python("models/mine.py", *words, cwd=tmp_path, variables=variables)

    assert run("--help").stdout.startswith("usage: python models/mine.py ")
    others = CoreLeases(tmp_path / "leases").acquire(99, Isolation.LEASED, timeout_s=5)
    done = run("--lr", "0.5", "--knob-seed", "3")
    others.release()
    assert "completed" in done.stdout
    assert "from beside it 3" in done.stdout
    (line,) = (line for line in done.stderr.splitlines() if "held by" in line)
    assert f"process {os.getpid()}" in line
    assert line.endswith("trials run with isolation shared")


def test_knobs_without_effect_are_noted(run_cli: RunCli) -> None:
    arguments = "--data digits --steps 1 --data-path batched --prefetch-factor 4 --ranks 2"
    finished = run_cli(*arguments.split(), module="trainables.lenet")
    first = finished.stderr.splitlines()[0]  # where other load contaminates it there is another
    assert first == "NOTE: without effect beside the other knobs: prefetch_factor=4, ranks=2"


# -- its weights

QUICK = ["--data", "digits", "--steps", "2", "--data-path", "resident"]


def test_a_trainable_on_its_own_keeps_its_weights(run_cli: RunCli, tmp_path: Path) -> None:
    finished = run_cli(*QUICK, "--save", "lenet.pt", module="trainables.lenet")
    assert finished.stdout.startswith("data: digits (")
    assert "10 classes)" in finished.stdout
    saved = torch.load(tmp_path / "lenet.pt", weights_only=True)
    LeNet().load_state_dict(saved["state"]["network"])
    assert saved["data"] == "digits"
    assert [path.name for path in tmp_path.iterdir()] == ["lenet.pt"]
