"""A trainable on its own that keeps its weights."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.conftest import RunCli, StartCli
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
    (tmp_path / "link.pt").symlink_to("absent.pt")
    for name, message in (
        ("there.pt", "error: --save there.pt: there is such a file\n  allowed: a new name\n"),
        ("link.pt", "error: --save link.pt: there is such a file\n  allowed: a new name\n"),
        ("no/m.pt", f"error: --save no/m.pt: there is no folder {tmp_path / 'no'}\n"),
        # Nobody can make a file there, root included.
        (
            "/proc/m.pt",
            "error: --save /proc/m.pt: /proc cannot be written: No such file or directory\n"
            "  give a file elsewhere by --save FILE\n",
        ),
    ):
        finished = run_cli(*QUICK, "--save", name, module="trainables.lenet")
        assert (finished.returncode, finished.stdout) == (2, "")
        assert finished.stderr == message
    assert (tmp_path / "there.pt").read_text() == "somebody's weights"


def test_weights_that_cannot_be_written_are_one_message(
    start_cli: StartCli, tmp_path: Path
) -> None:
    process = start_cli(*QUICK, "--save", "lenet.pt", module="trainables.lenet")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("training on ")
    (tmp_path / "lenet.pt").mkdir()  # meanwhile
    (tmp_path / "lenet.pt" / "other").touch()
    stdout, stderr = process.communicate()
    assert process.returncode == 2
    assert "completed" in stdout
    said = "error: lenet.pt: cannot be used: Is a directory"
    assert stderr.endswith(f"{said}\n  train again with another --save FILE\n")
    assert [path.name for path in tmp_path.iterdir()] == ["lenet.pt"]
