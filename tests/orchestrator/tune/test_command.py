"""Tests for ``orchestrator tune``: scripts as users write them, run by the command line."""

import json
import subprocess
from pathlib import Path

import pytest

from orchestrator.system.import_path import environment_with
from tests.helping import python

SCRIPT = """\
import sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return int(sys.argv[1])

    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.full((4,), float(i)), i % 2


if __name__ == "__main__":
    held_out = DataLoader(Slow(), batch_size=4)
    train = DataLoader(
        Slow(),
        batch_size=4,
        shuffle=True,
    )
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(100):
        for x, y in train:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            for x, y in held_out:
                model(x)
                break
"""


def tune(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return python(
        "-m", "orchestrator", "tune", *words, cwd=folder, code=code, env=environment_with()
    )


@pytest.mark.slow
@pytest.mark.alone  # it times a script
def test_workers_are_found_confirmed_and_written_into_script(tmp_path: Path) -> None:
    """In epochs without an end; short ones, and loops of other forms: ``test_probe.py``."""
    (tmp_path / "train.py").write_text(SCRIPT)

    done = tune(tmp_path, "--seconds=10", "--apply", "--json=o.json", "train.py", "8000")

    assert "train.py:17: the training loop's loader" in done.stdout
    assert "batches and losses are the same, bit by bit" in done.stdout
    about = json.loads((tmp_path / "o.json").read_text())
    assert about["verdict"] == "faster"
    assert about["low"] > 1.05
    assert about["settings"]["num_workers"] > 0
    written = (tmp_path / "train.py").read_text()
    assert f"shuffle=True, num_workers={about['settings']['num_workers']}" in written
    compile(written, "train.py", "exec")


def test_script_that_does_not_fit_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise ValueError('mine')")

    done = tune(tmp_path, "--seconds=10", "train.py", "99", code=2)

    assert "ValueError: mine" in done.stderr
    assert "orchestrator" not in done.stderr.partition("its last lines")[0].partition("\n")[2]


def test_a_script_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = tune(tmp_path, "nothing.py", code=2)

    assert done.stdout == ""
    assert "nothing.py" in done.stderr
