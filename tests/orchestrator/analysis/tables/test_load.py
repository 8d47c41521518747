from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
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


def test_no_directory_and_a_file_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"nowhere: is not a run directory"):
        load_run(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunDirectoryError, match="file"):
        load_run(tmp_path / "file")
