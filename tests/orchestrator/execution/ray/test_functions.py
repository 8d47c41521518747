"""A Ray Tune function, as its author wrote it, within our sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import RunCli

SWEEP = '''
import os
import tempfile

from ray import tune
from ray.tune import report

from orchestrator import Sweep, from_ray, maximize
from orchestrator.search import Random


def objective(config):
    """Report twice by each name, keep a checkpoint, and die the first time."""
    start = 0
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            start = int(open(os.path.join(folder, "step")).read()) + 1
    for step in range(start, 4):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "step"), "w").write(str(step))
            score = config["a"] * step + config["b"]
            say = tune.report if step % 2 else report
            say({"score": score, "speed": 10.0 * config["a"], "text": "not a number"},
                checkpoint=tune.Checkpoint.from_directory(folder))
        if config["dies"] and step == 1 and start == 0:
            os.kill(os.getpid(), 9)


SWEEP = Sweep(
    from_ray(objective, config={"a": 1.0, "b": 1, "dies": True},
             reports=[maximize("score"), maximize("speed")]),
    question="Does an existing function run unchanged?",
    space={"a": tune.uniform(1.0, 2.0), "b": tune.choice([1, 2])},
    objectives=[maximize("speed"), maximize("score")],
    search=Random(3),
    confirm=0,
)
'''


@pytest.mark.parametrize("kind", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_runs_unchanged(run_cli: RunCli, tmp_path: Path, kind: str) -> None:
    (tmp_path / "existing.py").write_text(SWEEP)

    done = run_cli("existing.py", "--out", "run", "--no-mlflow", "--executor", kind)

    assert done.returncode == 0, done.stderr
    trials = pd.read_parquet(tmp_path / "run" / "trials.parquet")
    assert set(trials["state"]) == {"completed"}, trials["reason"].tolist()
    assert len(trials) == 3, "the baseline and two draws"
    expected = 3 * trials["params.a"] + trials["params.b"]
    assert trials["metrics.score"].tolist() == pytest.approx(expected.tolist())
    assert (trials["tags.attempts"] == "2").all(), "it went on from its own checkpoint"
    curves = pd.read_parquet(tmp_path / "run" / "curves.parquet")
    assert all(list(own) == [1, 2, 3, 4] for _, own in curves.groupby("trial_id")["epoch"])
    assert (trials["metrics.epochs"] == 4).all()
    assert json.loads((tmp_path / "run" / "recommended.json").read_text())["config"]


def test_goes_on_from_its_own_checkpoint_after_a_pause(run_cli: RunCli, tmp_path: Path) -> None:
    sweep = SWEEP.replace("reports=[max", "keeps_checkpoints=True, reports=[max")
    sweep = sweep.replace("import Random", "import Asha, Random")
    stopping = 'Random(4), epochs=4, max_repeats=1, stopping=Asha("score", grace=2, factor=2)'
    (tmp_path / "existing.py").write_text(sweep.replace("Random(3)", stopping))

    done = run_cli("existing.py", "--out", "run", "--no-mlflow", "--executor", "inline")

    assert done.returncode == 0, done.stderr
    trials = pd.read_parquet(tmp_path / "run" / "trials.parquet")
    reached = trials["metrics.epochs"] - 1
    expected = reached * trials["params.a"] + trials["params.b"]
    assert trials["metrics.score"].tolist() == pytest.approx(expected.tolist())
    paused = trials[trials["state"] == "stopped"]
    assert set(paused["reason"]) == {"paused after 2 of 4 epochs"}
    gone_on = trials[trials["metrics.earlier_epochs"] == 2]
    assert (gone_on["state"] == "completed").all()
    assert len(gone_on) >= 1
    curves = pd.read_parquet(tmp_path / "run" / "curves.parquet")
    own = curves[curves["trial_id"].isin(gone_on["trial_id"])]
    assert list(own["epoch"])[:2] == [3, 4]
