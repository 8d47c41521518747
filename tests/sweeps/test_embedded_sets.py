"""The other studies, a few configs of each: from the command to a recommendation."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import ROOT, RunCli

DATA = {
    "graph_memory": "products-synthetic",
    "mnist_dataloader": "digits",
    "mnist_parallel": "digits",
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("sweep", DATA)
def test_a_study_runs_on_the_set_that_comes_with_it(
    sweep: str, tmp_path: Path, run_cli: RunCli
) -> None:
    arguments = ("--executor", "inline", "--no-mlflow", "--out", "run", "--trials", "3")
    done = run_cli(ROOT / f"sweeps/{sweep}.py", *arguments, timeout_s=280)

    assert done.returncode == 0, done.stdout + done.stderr
    trials = pd.read_parquet(tmp_path / "run/trials.parquet")
    assert set(trials["state"]) <= {"completed", "infeasible"}, trials["reason"].tolist()
    trained = trials[trials["stage"] == "train"]
    assert (trained["state"] == "completed").any()
    assert trials["data"].str.startswith(DATA[sweep]).all()
    assert json.loads((tmp_path / "run/recommended.json").read_text())["config"]
    assert (tmp_path / "run/report.html").stat().st_size > 100_000
