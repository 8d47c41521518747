"""Searches with trials that end early: factored, with stages, seeds and resumption; and ASHA."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.driver.trials import FINAL_SEEDS
from tests.orchestrator.driver.speed_sweeps import trials_of
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.journalled import lines_of

TRAINABLE = """
import time

from orchestrator import (
    Isolation, Rigor, Sweep, Trainable, choice, knobs, learning, maximize, systems,
)
from orchestrator.search import Asha, Factored, Grid


@knobs
class Config:
    wait_ms: float = systems(default=3.0, ge=0, doc="of a step")
    lr: float = learning(default=0.1, gt=0, doc="step size")


def train(config, run):
    state = run.restore() or {"epochs": 0, "loss": 1.0}
    for epoch in run.epochs():
        for _ in run.batches(range(12), samples=lambda _: 8):
            time.sleep(config.wait_ms / 1000)
        state = {"epochs": state["epochs"] + 1, "loss": state["loss"] * (1 - config.lr)}
        run.checkpoint(state)
        accuracy = 0.9 - abs(config.lr - 0.2) - 0.3 / state["epochs"]
        run.report(val_acc=accuracy, train_loss=state["loss"])
"""
SWEEP = """

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
    (folder / "waits.py").write_text(TRAINABLE + SWEEP)
    run_main(folder / "waits.py", "--out", folder / "run", "--executor", "inline", "--no-mlflow")
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


def test_the_confirm_stage_is_short_with_new_seeds(trials: pd.DataFrame) -> None:
    confirm = trials[trials["stage"] == "confirm"]
    assert (confirm["seed"] >= 7 + FINAL_SEEDS).all()
    assert (trials.loc[trials["stage"] != "confirm", "seed"] < 7 + FINAL_SEEDS).all()
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
def test_an_interrupted_run_resumes_as_it_would_have_continued(
    folder: Path, trials: pd.DataFrame, tmp_path: Path
) -> None:
    whole = folder / "run"
    events = (whole / "journal.jsonl").read_text().splitlines(keepends=True)
    ends = [number for number, line in enumerate(events) if '"finished"' in line]
    for name in ("sweep.json", "candidates.parquet"):
        shutil.copy(whole / name, tmp_path / name)
    (tmp_path / "journal.jsonl").write_text("".join(events[: ends[len(ends) // 2] + 1]))

    run_main("--resume", tmp_path, "--executor", "inline", "--no-mlflow")
    again = trials_of(tmp_path)
    kept = len(ends) // 2 + 1
    assert list(again["trial_id"][:kept]) == list(trials["trial_id"][:kept])
    best = again[(again["stage"] == "train") & (again["state"] == "completed")]
    assert set(best["params.lr"]) == {0.1, 0.2}


def test_what_an_earlier_run_has_measured_is_not_measured_again(
    folder: Path, trials: pd.DataFrame, tmp_path: Path
) -> None:
    grown = (TRAINABLE + SWEEP).replace("choice(0.1, 0.2,", "choice(0.1, 0.2, 0.3,")
    (tmp_path / "grown.py").write_text(grown)
    words = ("--warm-start", folder / "run", "--set", "rigor.confirm=0", "--no-mlflow")
    out = tmp_path / "run"
    plan = run_main(tmp_path / "grown.py", "--plan", *words)
    done = run_main(tmp_path / "grown.py", "--out", out, "--executor", "inline", *words)
    assert done.returncode == 0, done.stdout + done.stderr

    earlier = trials[trials["stage"] != "confirm"]
    counts = earlier["stage"].value_counts()
    assert f"{counts['probe']} probes and {counts['train']} trainings of" in plan.stdout
    rows = trials_of(out)
    events = lines_of(out / "journal.jsonl")
    started = rows["trial_id"].isin([e["trial_id"] for e in events if e["event"] == "started"])
    question = [*rows.filter(like="params."), "stage", "repeat", "state", "metrics.samples_per_s"]
    assert len(earlier.merge(rows[~started], on=question)) == len(earlier) == (~started).sum()
    assert set(rows.loc[started & (rows["stage"] == "train"), "params.lr"]) == {0.3}
    recommended = json.loads((out / "recommended.json").read_text())["config"]
    assert (recommended["wait_ms"], recommended["lr"]) == (1.0, 0.2), "of trials of that run alone"


# -- trials that end at rungs

EPOCHS = 4
HALVED = """

SWEEP = Sweep(
    Trainable(train, Config, name="halved", preload=(), reports=[maximize("val_acc")]),
    question="Which step size?",
    space=Config(wait_ms=0.0, lr=choice(0.1, 0.2, 0.4, 0.5)),
    baseline=Config(wait_ms=0.0),
    epochs=4,
    search=Grid(),
    stopping=Asha("val_acc", grace=1, factor=2),
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
    isolation=Isolation.SHARED,
    cores_per_trial=1,
)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Run a sweep with and without rungs; return both run directories."""
    folder = tmp_path_factory.mktemp("halved")
    (folder / "halved.py").write_text(TRAINABLE + HALVED)
    whole = TRAINABLE + HALVED.replace('Asha("val_acc", grace=1, factor=2)', "None")
    (folder / "whole.py").write_text(whole)
    for name in ("halved", "whole"):
        words = ("--out", folder / name, "--executor", "inline", "--no-mlflow")
        run_main(folder / f"{name}.py", *words)
    return folder / "halved", folder / "whole"


def learned(run_dir: Path) -> pd.DataFrame:
    """Return what each config had learned after each epoch that a trial of it has trained."""
    curves = pd.read_parquet(run_dir / "curves.parquet")
    knobs = trials_of(run_dir).set_index("trial_id")[["params.lr"]]
    figures = ["metrics.val_acc", "metrics.train_loss"]
    return curves.join(knobs, on="trial_id")[[*knobs.columns, "epoch", *figures]]


def test_nothing_is_trained_twice_and_all_learn_what_they_would_have(
    runs: tuple[Path, Path],
) -> None:
    halved, whole = map(learned, runs)
    by = ["params.lr", "epoch"]
    assert not halved.duplicated(by).any()
    both = halved.merge(whole, on=by, suffixes=("", "_whole"))
    assert len(both) == len(halved) < EPOCHS * len(halved.drop_duplicates("params.lr"))
    for figure in ("metrics.val_acc", "metrics.train_loss"):
        assert list(both[figure]) == list(both[f"{figure}_whole"])


def test_a_config_that_was_stopped_is_not_recommended(runs: tuple[Path, Path]) -> None:
    run_dir, _ = runs
    found = json.loads((run_dir / "recommended.json").read_text())["config"]
    trials = trials_of(run_dir)
    completed = trials[trials["state"] == "completed"]
    assert found["lr"] in set(completed["params.lr"])
    assert len(completed) < 4
