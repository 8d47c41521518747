from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.tables.files import read_table
from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile
from tests.orchestrator.analysis.made_runs import MadeRun


def test_figures_that_were_not_measured_are_missing_and_never_zero(run_dir: Path) -> None:
    lost = read_table(run_dir, RunFile.TRIALS).query("state == 'infeasible'").iloc[0]
    assert lost.filter(like="metrics.").isna().all()
    assert pd.isna(lost["wall_s"])


@pytest.mark.parametrize("name", [RunFile.TRIALS, RunFile.CURVES, RunFile.STEP_TIMES])
def test_a_truncated_table_is_refused(run_dir: Path, name: RunFile) -> None:
    path = run_dir / name
    path.write_bytes(path.read_bytes()[:-99])
    with pytest.raises(RunDirectoryError, match=rf"{name}: is no Parquet table: .+") as refusal:
        load_run(run_dir)
    assert "\n" not in str(refusal.value)


def test_a_run_of_a_later_version_is_refused(made: MadeRun, tmp_path: Path) -> None:
    made.sweep["format"] = 99
    with pytest.raises(RunDirectoryError, match=r"is of format 99, this version reads \d"):
        load_run(made.write(tmp_path / "later"))


def test_a_table_of_something_else_is_refused(run_dir: Path) -> None:
    pd.DataFrame({"trial_id": ["a"], "colour": ["red"]}).to_parquet(run_dir / "trials.parquet")
    with pytest.raises(RunDirectoryError, match="no column stage, state, reason"):
        read_table(run_dir, RunFile.TRIALS)
