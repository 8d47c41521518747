"""Runs of which every trial has a row and nothing can be recommended."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from tests.conftest import RunCli

SWEEP = """
from orchestrator import Isolation, Rigor, Sweep, Trainable, both, choice, knobs, maximize


@knobs
class Config:
    how: str = both(default="type", doc="how it fails")


def train(config, run):
    for _ in run.epochs():
        for number in run.batches([1] * 3, samples=lambda batch: 1):
            match config.how:
                case "type": number.nothing
                case "shape": raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3)")
                case "disk": raise OSError(5, "Input/output error")
                case "returned": break
        run.report(val_acc=0.5)
        raise KeyError("after a report")


def later(config, run):
    return (batch for batch in train(config, run)) if config.how != "lazy" else (i for i in [1])


SWEEP = Sweep(
    Trainable(later, Config, reports=[maximize("val_acc")], preload=()),
    question="What is tried again?",
    space=Config(how=choice("type", "shape", "disk", "late", "lazy")),
    rigor=Rigor(confirm=0, max_repeats=1, retries=1), isolation=Isolation.SHARED,
)
"""


def test_every_trial_fails_and_what_would_fail_again_is_not_tried_again(
    run_cli: RunCli, tmp_path: Path
) -> None:
    (tmp_path / "failing.py").write_text(SWEEP)
    words = ("--executor", "inline", "--no-mlflow", "--out", "run")
    done = run_cli("failing.py", *words)

    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    trials = pd.read_parquet(tmp_path / "run" / "trials.parquet").set_index("params.how")
    assert set(trials["state"]) == {"failed"}
    attempts = dict(trials["tags.attempts"])
    assert attempts == {"type": "1", "shape": "1", "disk": "2", "late": "2", "lazy": "1"}
    assert "train returned a generator" in trials["reason"]["lazy"]
    assert json.loads((tmp_path / "run" / "recommended.json").read_text())["config"] is None
    assert run_cli("--resume", "run").returncode == 3, "it has ended, and still recommends nothing"
