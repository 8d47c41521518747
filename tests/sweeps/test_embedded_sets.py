"""The other studies, a few configs of each: from the command to a recommendation."""

import importlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sweeps
from orchestrator import Sweep
from orchestrator.space.configs import values_of
from tests.conftest import RunCli

DATA = {
    "graph_memory": "products-synthetic@0.002",  # a fifteenth of what the sweep takes
    "mnist_dataloader": "digits",
    "mnist_parallel": "digits",
}

SHORT = """
from dataclasses import replace
from sweeps.{sweep} import SWEEP as WHOLE

RIGOR = replace(WHOLE.rigor, confirm=1, max_confirm=1, max_repeats=1)
SWEEP = replace(WHOLE, epochs=2, rigor=RIGOR)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("sweep", DATA)
def test_study_runs_on_set_that_comes_with_it(sweep: str, tmp_path: Path, run_cli: RunCli) -> None:
    (tmp_path / "short.py").write_text(SHORT.format(sweep=sweep))
    arguments = ("--executor", "inline", "--no-mlflow", "--out", "run", "--trials", "3")
    smaller = ("--data", DATA[sweep], "--set", "epoch_pairs=3000") if "@" in DATA[sweep] else ()
    arguments += ("--isolation", "shared", *smaller)
    run_cli("short.py", *arguments, timeout_s=280, page=True)

    trials = pd.read_parquet(tmp_path / "run/trials.parquet")
    assert set(trials["state"]) <= {"completed", "infeasible"}, trials["reason"].tolist()
    trained = trials[trials["stage"] == "train"]
    assert (trained["state"] == "completed").any()
    assert trials["data"].str.startswith(DATA[sweep]).all()
    assert json.loads((tmp_path / "run/recommended.json").read_text())["config"]
    assert (tmp_path / "run/report.html").stat().st_size > 100_000


NAMES = [path.stem for path in Path(sweeps.__path__[0]).glob("[!_]*.py")]
ONCE = {"graph_memory"}
"""An evaluation takes half as long as an epoch there, and the question is about memory."""


@pytest.mark.parametrize("name", NAMES)
def test_each_curve_has_three_points_or_more(name: str) -> None:
    sweep: Sweep[Any] = importlib.import_module(f"sweeps.{name}").SWEEP
    every = values_of(sweep.baseline)["eval_every"]
    points = -(-sweep.epochs // every)
    assert points >= (1 if name in ONCE else 3)
    assert (points == 1) == (name in ONCE)
