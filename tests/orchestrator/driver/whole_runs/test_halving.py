"""Sweeps whose trials end early: what is trained learns what it would have, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from tests.orchestrator.driver.speed_sweeps import trials_of
from tests.orchestrator.helpers.in_process import run_main

EPOCHS = 4
SWEEP = """
from orchestrator import Isolation, Rigor, Sweep, choice
from orchestrator.search import Asha, Grid
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="Which step size?",
    space=LeNetConfig(
        lr=choice(0.01, 0.02, 0.05, 0.1), batch_size=132, threads=1, data_path="batched",
    ),
    baseline=LeNetConfig(lr=0.01, batch_size=132, threads=1, data_path="batched"),
    data="digits",
    epochs=4,
    search=Grid(),
    stopping={stopping},
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
    isolation=Isolation.SHARED,
)
"""
ASHA = 'Asha("val_acc", grace=1, factor=2)'

Run = Callable[[str], Path]


def written(folder: Path, stopping: str) -> Path:
    path = folder / "halved.py"
    path.write_text(SWEEP.format(stopping=stopping))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a sweep, once for each that is asked for; return its directory."""

    @cache
    def of(stopping: str) -> Path:
        folder = tmp_path_factory.mktemp("halved")
        file = written(folder, stopping)
        done = run_main(file, "--out", folder / "run", "--executor", "inline", "--no-mlflow")
        assert done.returncode == 0, done.stderr
        return folder / "run"

    return of


def learned(run_dir: Path) -> pd.DataFrame:
    """Return what each config had learned after each epoch that a trial of it has trained."""
    curves = pd.read_parquet(run_dir / "curves.parquet")
    knobs = trials_of(run_dir).set_index("trial_id")[["params.lr"]]
    figures = ["metrics.val_acc", "metrics.train_loss"]
    return curves.join(knobs, on="trial_id")[[*knobs.columns, "epoch", *figures]]


def test_nothing_is_trained_twice_and_all_learn_what_they_would_have(run: Run) -> None:
    whole = learned(run("None"))
    halved = learned(run(ASHA))
    by = ["params.lr", "epoch"]
    assert not halved.duplicated(by).any()
    both = halved.merge(whole, on=by, suffixes=("", "_whole"))
    assert len(both) == len(halved) < EPOCHS * len(halved.drop_duplicates("params.lr"))
    for figure in ("metrics.val_acc", "metrics.train_loss"):
        assert list(both[figure]) == list(both[f"{figure}_whole"])


def test_a_config_that_was_stopped_is_not_recommended(run: Run) -> None:
    run_dir = run(ASHA)
    found = json.loads((run_dir / "recommended.json").read_text())["config"]
    trials = trials_of(run_dir)
    completed = trials[trials["state"] == "completed"]
    assert found["lr"] in set(completed["params.lr"])
    assert len(completed) < 4
