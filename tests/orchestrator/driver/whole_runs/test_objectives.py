"""Objectives, rules and figures of a sweep file, on the recorded trials of one small sweep."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.driver.run import EXIT_NO_ANSWER
from orchestrator.execution.placement import local_machine
from orchestrator.storage.files import RunFile
from tests.conftest import RunCli
from tests.orchestrator.helpers.in_process import run_main

SWEEP = """
import time

from orchestrator import (
    Rigor, Sweep, Trainable, at_least, at_most, choice, knee, knobs, learning, maximize, minimize,
    systems,
)


@knobs
class Config:
    reach: float = learning(default=0.5, ge=0, le=1, doc="accuracy that it ends at")
    memory: float = systems(default=1.0, ge=0, doc="memory that it says it takes")


def train(config, run):
    for epoch in run.epochs():
        for _ in run.batches(range(4), samples=lambda _: 8):
            time.sleep(0.002 * config.memory)
        run.report(val_acc=config.reach * (epoch + 1) / 3, mem_mib=1024 * config.memory)


def least_memory(configs):
    return configs["metrics.mem_mib"].idxmin()


SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc"), minimize("mem_mib")], preload=(),
              name="made"),
    question="?",
    space=Config(reach=choice(0.6, 0.9), memory=choice(1.0, 2.0)),
    baseline=Config(reach=0.6),
    epochs=3,
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
    cores_per_trial=1,
    {fields}
)
"""

Run = Callable[..., dict[str, Any]]
COMMON = ("--no-mlflow", "--isolation", "shared")


def written(folder: Path, fields: str) -> Path:
    path = folder / "made.py"
    path.write_text(SWEEP.replace("{fields}", fields))
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the sweep; return its run directory."""
    folder = tmp_path_factory.mktemp("recorded")
    file = written(folder, 'objectives=[maximize("val_acc"), minimize("mem_mib")],')
    run_main(file, *COMMON, "--executor", "inline", "--out", folder / "r")
    return folder / "r"


@pytest.fixture
def run(tmp_path: Path, table: Path) -> Run:
    """Replay the sweep with other fields; return ``recommended.json``."""

    def of(fields: str, *options: str, code: int = 0, page: bool = False) -> dict[str, Any]:
        file = written(tmp_path, fields)
        words = (
            *COMMON,
            "--executor",
            "replay",
            "--set",
            f"replay.table={table}",
            "--out",
            tmp_path / "r",
        )
        run_main(file, *words, *options, page=page, code=code)
        return json.loads((tmp_path / "r" / RunFile.RECOMMENDED).read_text())

    return of


def trials(tmp_path: Path) -> pd.DataFrame:
    return pd.read_parquet(tmp_path / "r" / RunFile.TRIALS)


def test_a_third_objective_decides_and_is_drawn(run: Run, tmp_path: Path) -> None:
    recommended = run(
        'objectives=[maximize("val_acc"), minimize("peak_rss_gib", tolerance=9),'
        'minimize("mem_mib")]',
        page=True,
    )
    assert (recommended["config"]["reach"], recommended["config"]["memory"]) == (0.9, 1.0)
    assert "and, of these, whose mem_mib is within 2 % of the best" in recommended["rule"]
    assert recommended["figures"]["mem_mib"] == 1024
    page = (tmp_path / "r" / RunFile.REPORT).read_text()
    assert 'id="speed-mem-mib"' in page
    assert "not accurate enough" not in page
    front = pd.read_csv(tmp_path / "r" / RunFile.FRONT)
    assert {"metrics.val_acc", "metrics.peak_rss_gib", "metrics.mem_mib"} <= set(front.columns)


def test_a_bound_is_a_condition(run: Run) -> None:
    recommended = run('objectives=[maximize("val_acc"), at_most("mem_mib", 1024)]')
    assert recommended["config"]["memory"] == 1.0
    assert recommended["rule"].startswith(
        "the best config by val_acc whose mem_mib is at most 1,024;"
    )


def test_a_bound_that_no_config_meets_is_reported(run: Run) -> None:
    objectives = 'objectives=[maximize("samples_per_s"), at_least("val_acc", 0.95)]'
    recommended = run(objectives, code=EXIT_NO_ANSWER)
    assert recommended["config"] is None
    assert recommended["why"] == (
        "none of 4 configs holds: val_acc is at least 95.00 % (the best: 90.00 %)"
    )


def test_figures_to_a_target_and_a_cost_are_objectives(run: Run, tmp_path: Path) -> None:
    recommended = run(
        'objectives=[minimize("time_to_accuracy_s"), maximize("goodput"), minimize("cost")],'
        "target=0.55,",
        "--set",
        "prices.cpu_hour=36",
    )
    table = trials(tmp_path)
    there = table["metrics.time_to_accuracy_s"]
    curves = pd.read_parquet(tmp_path / "r" / RunFile.CURVES).set_index(["trial_id", "epoch"])
    epochs = table["params.reach"].map({0.6: 3, 0.9: 2})  # epochs up to the target
    reached = curves.loc[list(zip(table["trial_id"], epochs, strict=True)), "metrics.train_s"]
    assert there.tolist() == pytest.approx(reached.tolist(), rel=1e-3)
    cost = table["wall_s"] * table["cores"] * 36 / 3600
    assert table["metrics.cost"].tolist() == pytest.approx(cost.tolist())
    assert recommended["config"]["reach"] == 0.9


def test_function_chooses_and_its_choice_is_kept(run: Run, run_cli: RunCli, tmp_path: Path) -> None:
    objectives = 'objectives=[maximize("samples_per_s"), maximize("mem_mib")]'
    recommended = run(f"{objectives}, rule=least_memory,")
    assert recommended["config"]["memory"] == 1.0
    assert recommended["rule"] == "what the sweep's function least_memory returns"
    (tmp_path / "made.py").unlink()
    run_cli("show", tmp_path / "r")
    again = json.loads((tmp_path / "r" / RunFile.RECOMMENDED).read_text())
    assert again["config"] == recommended["config"]
    assert "the sweep's function least_memory chose it" in again["why"]


def test_an_objective_that_no_trial_would_have_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    refusals = {"cost": "cost has no prices"}
    if not local_machine().gpus:
        refusals["peak_gpu_gib"] = "peak_gpu_gib is measured on GPUs, and none is here"
    for metric, message in refusals.items():
        file = written(tmp_path, f'objectives=[minimize("{metric}")],')
        done = run_main(file, *COMMON, "--executor", "inline", "--out", tmp_path / "r", code=2)
        assert message in done.stderr
        assert not (tmp_path / "r").exists()
