from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile
from tests.orchestrator.analysis.made_runs import MadeRun


def test_a_directory_gives_the_tables_as_they_were_written(made: MadeRun, run_dir: Path) -> None:
    tables = load_run(str(run_dir))
    pd.testing.assert_frame_equal(tables.trials, made.trials)
    assert tables.sweep == made.record
    assert len(tables.curves) == len(made.curves)
    assert tables.steps["dropped"].tolist()[0] == "warm_up"
    assert tables.steps["dropped"].isna().tolist() == [False, True]


def test_a_directory_without_step_times_is_opened(run_dir: Path) -> None:
    (run_dir / "steps.parquet").unlink()
    assert load_run(run_dir).steps.empty


@pytest.mark.parametrize("name", ["trials.parquet", "curves.parquet", "sweep.json"])
def test_a_missing_file_is_named(run_dir: Path, name: str) -> None:
    (run_dir / name).unlink()
    with pytest.raises(RunDirectoryError, match=f"{run_dir}.* has no {name}") as refused:
        load_run(run_dir)
    assert name == "sweep.json" or f"--resume {run_dir}" in refused.value.hint


@pytest.mark.parametrize("name", [RunFile.TRIALS, RunFile.CURVES, RunFile.STEP_TIMES])
def test_a_truncated_table_is_refused(run_dir: Path, name: RunFile) -> None:
    path = run_dir / name
    path.write_bytes(path.read_bytes()[:-99])
    with pytest.raises(RunDirectoryError, match=rf"{name}: is no Parquet table: .+"):
        load_run(run_dir)


def test_a_table_of_something_else_is_refused(run_dir: Path) -> None:
    pd.DataFrame({"trial_id": ["a"], "colour": ["red"]}).to_parquet(run_dir / "trials.parquet")
    with pytest.raises(RunDirectoryError, match="no column stage, state, reason"):
        load_run(run_dir)
