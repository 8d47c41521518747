"""Places that a user's shell names: a home folder, MLflow's own variable."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.orchestrator.driver.speed_sweeps import write_sweep

QUICK = ["--executor", "inline", "--isolation", "shared", "--set", "step_ms=1.0"]


@pytest.mark.slow
def test_a_home_folder_and_mlflow_s_own_variables_are_obeyed(
    run_cli: RunCli, tmp_path: Path
) -> None:
    home, store = tmp_path / "home", tmp_path / "team.db"
    home.mkdir()
    file = write_sweep(tmp_path, epochs=1)
    where = {
        "HOME": str(home),
        "MLFLOW_TRACKING_URI": f"sqlite:///{store}",
        "MLFLOW_EXPERIMENT_NAME": "team",
        "MPLBACKEND": "of which nobody knows",
    }
    done = run_cli(file, "--out=~/x", *QUICK, env=where)
    assert done.returncode == 0, done.stderr
    assert (home / "x" / "trials.csv").exists()
    assert not (tmp_path / "~").exists()
    assert not (tmp_path / "runs").exists()
    again = run_cli("--resume", home / "x", env={"HOME": str(home)})  # without the variables
    assert again.returncode == 0, again.stderr
    assert "--backend-store-uri sqlite:///team.db" in again.stdout
    with closing(sqlite3.connect(store)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM experiments")}
    assert names == {"Default", "team"}
