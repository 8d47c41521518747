"""Sweeps whose trials end early: what is trained learns what it would have, and nothing twice."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import RunCli, StartCli
from tests.orchestrator.driver.speed_sweeps import trials_of, wait_for_finished
from tests.orchestrator.in_process import run_main

EPOCHS = 4
SWEEP = """
from dataclasses import replace

from orchestrator import Isolation, Sweep, choice
from orchestrator.search import Asha, Grid, Optuna
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    {trainable},
    question="Which step size and batch?",
    space=LeNetConfig(
        lr=choice(0.01, 0.05, 0.1), batch_size=choice({batches}), threads=1, data_path="batched",
    ),
    baseline=LeNetConfig(lr=0.01, batch_size=66, threads=1, data_path="batched"),
    data="digits",
    epochs=4,
    search={search},
    stopping={stopping},
    confirm=0,
    max_repeats=1,
    check_isolated=0,
    isolation=Isolation.SHARED,
)
"""
PAUSES, ENDS = "lenet", "replace(lenet, keeps_checkpoints=False)"
ASHA = 'Asha("val_acc", grace=1, factor=2)'

Run = Callable[[str, str, str], Path]


def written(
    folder: Path, trainable: str, search: str, stopping: str, batches: str = "66, 132"
) -> Path:
    path = folder / "halved.py"
    path.write_text(
        SWEEP.format(trainable=trainable, search=search, stopping=stopping, batches=batches)
    )
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a sweep, once for each that is asked for; return its directory."""

    @cache
    def of(trainable: str, search: str, stopping: str) -> Path:
        folder = tmp_path_factory.mktemp("halved")
        file = written(folder, trainable, search, stopping)
        done = run_main(file, "--out", folder / "run", "--executor", "inline", "--no-mlflow")
        assert done.returncode == 0, done.stderr
        return folder / "run"

    return of


def learned(run_dir: Path) -> pd.DataFrame:
    """Return what each config had learned after each epoch that a trial of it has trained."""
    curves = pd.read_parquet(run_dir / "curves.parquet")
    knobs = trials_of(run_dir).set_index("trial_id")[["params.lr", "params.batch_size"]]
    figures = ["metrics.val_acc", "metrics.train_loss"]
    return curves.join(knobs, on="trial_id")[[*knobs.columns, "epoch", *figures]]


@pytest.mark.parametrize(
    ("trainable", "search"),
    [
        (PAUSES, "Grid()"),
        pytest.param(ENDS, "Grid()", marks=pytest.mark.slow),
        pytest.param(PAUSES, "Optuna(5)", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_trained_twice_and_all_learn_what_they_would_have(
    run: Run, trainable: str, search: str
) -> None:
    whole = learned(run(PAUSES, "Grid()", "None"))
    halved = learned(run(trainable, search, ASHA))
    by = ["params.lr", "params.batch_size", "epoch"]
    assert not halved.duplicated(by).any()
    both = halved.merge(whole, on=by, suffixes=("", "_whole"))
    assert len(both) == len(halved) < EPOCHS * len(halved.drop_duplicates(by[:2]))
    for figure in ("metrics.val_acc", "metrics.train_loss"):
        assert list(both[figure]) == list(both[f"{figure}_whole"])


def test_the_rows_of_a_curve_add_up(run: Run) -> None:
    trials = trials_of(run(PAUSES, "Grid()", ASHA))
    own = trials["metrics.epochs"] - trials["metrics.earlier_epochs"].fillna(0)
    assert own.sum() == len(learned(run(PAUSES, "Grid()", ASHA)))
    gone_on = trials[trials["metrics.earlier_epochs"].notna()]
    assert set(gone_on["metrics.earlier_epochs"]) == {1, 2}
    # Training times are of the whole curve; the row's own time is not.
    curve = trials[trials["curve"] == gone_on["curve"].iloc[-1]]
    assert curve["metrics.train_s"].is_monotonic_increasing
    ended = trials[trials["state"] == "stopped"]
    assert set(ended["reason"]) == {"paused after 1 of 4 epochs", "paused after 2 of 4 epochs"}
    is_baseline = (trials["params.lr"] == 0.01) & (trials["params.batch_size"] == 66)
    assert list(trials.loc[is_baseline, "state"]) == ["completed"]


def test_a_config_that_was_stopped_is_not_recommended(run: Run) -> None:
    run_dir = run(PAUSES, "Grid()", ASHA)
    found = json.loads((run_dir / "recommended.json").read_text())["config"]
    trials = trials_of(run_dir)
    completed = trials[trials["state"] == "completed"]
    pairs = set(zip(completed["params.lr"], completed["params.batch_size"], strict=True))
    assert (found["lr"], found["batch_size"]) in pairs
    assert len(pairs) < 6


def test_no_checkpoint_of_a_pause_is_left_at_the_end(run: Run) -> None:
    run_dir = run(PAUSES, "Grid()", ASHA)
    assert "paused after" in (run_dir / "trials.csv").read_text()
    assert not (run_dir / "paused").exists()


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_pauses(
    run: Run, start_cli: StartCli, run_cli: RunCli, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", written(tmp_path, PAUSES, "Grid()", ASHA)
    driver = start_cli(file, "--out", out, "--no-mlflow", "--executor", "inline")
    wait_for_finished(3, out, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert list((out / "paused").iterdir()), "they are in the run directory, not a temporary one"
    done = run_cli("--resume", out)
    assert done.returncode == 0, done.stderr
    uninterrupted = run(PAUSES, "Grid()", ASHA)
    assert sorted(trials_of(out)["trial_id"]) == sorted(trials_of(uninterrupted)["trial_id"])
    pd.testing.assert_frame_equal(in_order(learned(out)), in_order(learned(uninterrupted)))


def in_order(curves: pd.DataFrame) -> pd.DataFrame:
    by = ["params.lr", "params.batch_size", "epoch"]
    return curves.sort_values(by).reset_index(drop=True)
