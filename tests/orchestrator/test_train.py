"""``python -m orchestrator train RUN_DIR``: from a recommendation to trained weights."""

import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from orchestrator.driver.record import question_record
from orchestrator.measurement.run import Channel, Context, Run
from orchestrator.sweep.loading import load_sweep
from orchestrator.trial import Budget
from tests.conftest import RunCli
from tests.orchestrator.helpers.in_process import run_main
from trainables.data.sets.digits import DIGITS
from trainables.images import image_splits, normalised
from trainables.lenet import LeNet, LeNetConfig

LENET = """\
from orchestrator import Sweep, choice
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="Which learning rate?",
    space=LeNetConfig(lr=choice(0.01, 0.05), data_path="resident", batch_size=64),
    epochs=3,
    data="digits",
)
"""

OF_RAY = """\
import json
import tempfile
from pathlib import Path

from ray import tune

from orchestrator import Sweep, from_ray, maximize


def train(config):
    for epoch in range(2):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "weights.json").write_text(json.dumps({"w": config["w"], "epoch": epoch}))
            tune.report({"val_acc": 0.5}, checkpoint=tune.Checkpoint.from_directory(folder))


SWEEP = Sweep(
    from_ray(train, config={"w": 1.0}, reports=[maximize("val_acc")], %s),
    question="Which w?",
    space={"w": tune.choice([1.0, 2.0])},
    objectives=[maximize("val_acc")],
)
"""


def run_dir_of(folder: Path, text: str, config: dict[str, Any] | None) -> Path:
    """A run directory after the run's end, as far as this command reads it."""
    file = folder / "asked.py"
    file.write_text(text)
    run_dir = folder / "run"
    run_dir.mkdir()
    data = "digits" if text == LENET else ""
    record = {**question_record(load_sweep(file), file).to_json(), "data": data}
    for name, module in list(sys.modules.items()):  # it is not to be taken for one in use
        if getattr(module, "__file__", None) == str(file):
            del sys.modules[name]
    (run_dir / "sweep.json").write_text(json.dumps(record))
    content = {"config": config, "why": "no trial completed (2 failed)"}
    (run_dir / "recommended.json").write_text(json.dumps(content))
    return run_dir


def accuracy(network: LeNet, config: LeNetConfig, tmp_path: Path) -> float:
    """The network's test accuracy, counted here."""
    from orchestrator import DataFolders

    data = DIGITS.prepare(DataFolders.default(tmp_path), download=False)
    context = Context(seed=0, budget=Budget(epochs=1), data=data, evaluate_test=True)
    run = Run(context, channel=cast("Channel", None))
    test = image_splits(run, config).test
    with torch.no_grad():
        scores = network(normalised(test.pixels).unsqueeze(1))
    return float((scores.argmax(1) == test.labels).double().mean())


def test_the_weights_are_those_of_the_printed_accuracy(run_cli: RunCli, tmp_path: Path) -> None:
    run_dir = run_dir_of(tmp_path, LENET, {"lr": 0.05, "batch_size": 64, "data_path": "resident"})
    finished = run_cli("train", run_dir, "--epochs", "2")
    assert f"weights: {run_dir / 'model.pt'}" in finished.stdout
    saved = torch.load(run_dir / "model.pt", weights_only=True)
    assert (saved["epochs"], saved["config"]["lr"], saved["trainable"]) == (2, 0.05, "lenet")
    network = LeNet()
    network.load_state_dict(saved["state"]["network"])
    counted = accuracy(network, LeNetConfig(), tmp_path)
    assert counted == pytest.approx(saved["metrics"]["test_acc"], abs=1e-6)
    assert counted > 0.3

    again = run_cli("train", run_dir, code=2)
    assert f"error: --save {run_dir / 'model.pt'}: there is such a file" in again.stderr


def test_a_function_for_ray_tune_keeps_its_last_folder(run_cli: RunCli, tmp_path: Path) -> None:
    run_dir = run_dir_of(tmp_path, OF_RAY % "keeps_checkpoints=True", {"w": 2.0})
    run_cli("train", run_dir, "--save", tmp_path / "kept")
    assert json.loads((tmp_path / "kept" / "weights.json").read_text()) == {"w": 2.0, "epoch": 1}


@pytest.mark.parametrize(
    ("text", "config", "words", "message"),
    [
        (OF_RAY % "gpus=0", {"w": 1.0}, (), "keeps no weights"),
        (LENET, None, (), "recommends no settings: no trial completed (2 failed)"),
        (LENET, {"lr": -1.0}, (), "lr=-1.0"),
        (LENET, {"lrr": 1.0}, (), "did you mean 'lr'?"),
        (LENET, {"lr": 0.05}, ("--data", "digit"), "did you mean 'digits'?"),
    ],
)
def test_what_cannot_be_trained_is_one_message(
    tmp_path: Path,
    text: str,
    config: dict[str, Any] | None,
    words: tuple[str, ...],
    message: str,
) -> None:
    finished = run_main("train", run_dir_of(tmp_path, text, config), *words, code=2)
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "run" / "model.pt").exists()


def test_a_sweep_file_that_has_changed_is_run_only_if_it_is_trusted(
    run_cli: RunCli, tmp_path: Path
) -> None:
    run_dir = run_dir_of(tmp_path, OF_RAY % "keeps_checkpoints=True", {"w": 2.0})
    with (tmp_path / "asked.py").open("a") as file:
        file.write("open('has-run', 'w')\n")
    refused = run_main("train", run_dir, code=2)
    assert refused.stdout == ""
    assert "asked.py: the run's sweep file is not the file that" in refused.stderr
    assert not (tmp_path / "has-run").exists()
    run_cli("train", run_dir, "--trust", "--save", tmp_path / "kept")
    assert (tmp_path / "has-run").exists()


def test_a_missing_sweep_file_or_a_run_that_is_none_is_one_message(tmp_path: Path) -> None:
    run_dir = run_dir_of(tmp_path, LENET, {"lr": 0.05})
    (tmp_path / "asked.py").unlink()
    gone = run_main("train", run_dir, code=2)
    assert gone.stdout == ""
    assert "asked.py: the run's sweep file is not there any more" in gone.stderr
    none = run_main("train", tmp_path / "nothing", code=2)
    assert none.stdout == ""
    assert "is not a run directory (no such folder)" in none.stderr
