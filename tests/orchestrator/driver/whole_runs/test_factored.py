"""A factored search by the command line: its stages, its seeds, its resumption."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.driver.trials import CONFIRM_SEEDS
from tests.orchestrator.driver.speed_sweeps import trials_of
from tests.orchestrator.helpers.in_process import run_main

SWEEP = """
import time

from orchestrator import Rigor, Sweep, Trainable, choice, knobs, learning, maximize, systems
from orchestrator.search import Factored


@knobs
class Config:
    wait_ms: float = systems(default=3.0, ge=0, doc="of a step")
    lr: float = learning(default=0.1, gt=0, doc="step size")


def train(config, run):
    state = run.restore() or {"epochs": 0}
    for epoch in run.epochs():
        for _ in run.batches(range(12), samples=lambda _: 8):
            time.sleep(config.wait_ms / 1000)
        state["epochs"] += 1
        run.checkpoint(state)
        run.report(val_acc=0.9 - abs(config.lr - 0.2) - 0.3 / state["epochs"])


SWEEP = Sweep(
    Trainable(train, Config, name="factored", preload=(), reports=[maximize("val_acc")]),
    question="Which wait and which step size?",
    rigor=Rigor(finalists=1, confirm=2, max_confirm=2),
    space=Config(wait_ms=choice(1.0, 3.0, 6.0), lr=choice(0.1, 0.2, 0.4, 0.5)),
    epochs=9,
    search=Factored(seeds=2, probes=2, confirm_steps=48),
    seed=7,
    cores_per_trial=1,
)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the sweep; return its folder, with the run directory ``run`` in it."""
    folder = tmp_path_factory.mktemp("factored")
    (folder / "waits.py").write_text(SWEEP)
    done = run_main(
        folder / "waits.py", "--out", folder / "run", "--executor", "inline", "--no-mlflow"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def trials(folder: Path) -> pd.DataFrame:
    return trials_of(folder / "run")


def test_settings_are_probed_and_curves_trained_with_the_fastest(trials: pd.DataFrame) -> None:
    probes = trials[trials["stage"] == "probe"]
    assert set(probes["params.wait_ms"]) == {1.0, 3.0, 6.0}
    assert set(probes["params.lr"]) == {0.1}
    trained = trials[trials["stage"] == "train"]
    own = trained[trained["params.wait_ms"] != 1.0]
    assert [*zip(own["params.wait_ms"], own["params.lr"], strict=True)] == [(3.0, 0.1)], (
        "the baseline as it is"
    )
    assert set(trained["params.lr"]) == {0.1, 0.2, 0.4, 0.5}


def test_weak_curves_are_paused_and_the_best_is_trained_twice(trials: pd.DataFrame) -> None:
    trained = trials[trials["stage"] == "train"]
    whole = trained[trained["state"] == "completed"]
    assert set(whole["params.lr"]) == {0.1, 0.2}, "the baseline's, and the best"
    assert sorted(whole.loc[whole["params.lr"] == 0.2, "repeat"]) == [0, 1]
    paused = trained[trained["state"] == "stopped"]
    assert set(paused["metrics.epochs"]) == {1.0, 3.0}


def test_the_confirm_stage_is_short_with_seeds_of_its_own(trials: pd.DataFrame) -> None:
    confirm = trials[trials["stage"] == "confirm"]
    assert (confirm["seed"] >= 7 + CONFIRM_SEEDS).all()
    assert (trials.loc[trials["stage"] != "confirm", "seed"] < 7 + CONFIRM_SEEDS).all()
    compared = confirm[confirm["repeat"] < 2]
    assert {(1.0, 0.2), (3.0, 0.1)} <= set(
        zip(compared["params.wait_ms"], compared["params.lr"], strict=True)
    )
    assert compared["metrics.val_acc"].isna().all()
    assert set(compared["metrics.steps"]) == {48}, "of 108 in a whole training"
    (tested,) = confirm[confirm["repeat"] == 2].to_dict("records")
    assert (tested["params.wait_ms"], tested["params.lr"]) == (1.0, 0.2)
    assert tested["metrics.val_acc"] > 0.8


@pytest.mark.slow
def test_a_run_that_was_broken_off_goes_on_as_it_would_have(
    folder: Path, trials: pd.DataFrame, tmp_path: Path
) -> None:
    whole = folder / "run"
    events = (whole / "journal.jsonl").read_text().splitlines(keepends=True)
    ends = [number for number, line in enumerate(events) if '"finished"' in line]
    for name in ("sweep.json", "candidates.parquet"):
        shutil.copy(whole / name, tmp_path / name)
    (tmp_path / "journal.jsonl").write_text("".join(events[: ends[len(ends) // 2] + 1]))

    done = run_main("--resume", tmp_path, "--executor", "inline", "--no-mlflow")
    assert done.returncode == 0, done.stdout + done.stderr
    again = trials_of(tmp_path)
    kept = len(ends) // 2 + 1
    assert list(again["trial_id"][:kept]) == list(trials["trial_id"][:kept])
    best = again[(again["stage"] == "train") & (again["state"] == "completed")]
    assert set(best["params.lr"]) == {0.1, 0.2}
