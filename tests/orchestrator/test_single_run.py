"""A trainable on its own that keeps its weights."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.conftest import RunCli
from trainables.lenet import LeNet

QUICK = ["--data", "digits", "--steps", "2", "--data-path", "resident"]


def test_a_trainable_on_its_own_keeps_its_weights(run_cli: RunCli, tmp_path: Path) -> None:
    finished = run_cli(*QUICK, "--save", "lenet.pt", module="trainables.lenet")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    saved = torch.load(tmp_path / "lenet.pt", weights_only=True)
    LeNet().load_state_dict(saved["state"]["network"])
    assert saved["data"] == "digits"
    assert [path.name for path in tmp_path.iterdir()] == ["lenet.pt"]


def test_what_could_not_be_saved_is_not_trained(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "there.pt").write_text("somebody's weights")
    for name, message in (
        ("there.pt", "error: --save there.pt: there is such a file\n  allowed: a new name\n"),
        ("no/m.pt", f"error: --save no/m.pt: there is no folder {tmp_path / 'no'}\n"),
    ):
        finished = run_cli(*QUICK, "--save", name, module="trainables.lenet")
        assert (finished.returncode, finished.stdout) == (2, "")
        assert finished.stderr == message
    assert (tmp_path / "there.pt").read_text() == "somebody's weights"
