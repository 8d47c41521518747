from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
from tests.orchestrator.analysis.made_runs import MadeRun, content_of

FORMAT_1 = Path(__file__).parents[3] / "fixtures" / "run_format_1"


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
    with pytest.raises(RunDirectoryError, match=f"{run_dir}.* has no {name}"):
        load_run(run_dir)


def test_a_run_that_was_cut_short_is_told_to_be_resumed(run_dir: Path) -> None:
    (run_dir / "trials.parquet").unlink()
    with pytest.raises(RunDirectoryError, match=f"--resume {run_dir}"):
        load_run(run_dir)


def test_no_directory_and_a_file_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"nowhere: is not a run directory"):
        load_run(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunDirectoryError, match="file"):
        load_run(tmp_path / "file")


def test_a_run_of_the_previous_format_is_read_under_the_names_of_today() -> None:
    tables = load_run(FORMAT_1)
    interleaved = tables.trials["tags.interleaved"] == "true"
    assert 0 < interleaved.sum() < len(interleaved)
    assert "slice_start" in set(tables.steps["dropped"])
    assert not any("turn" in str(column) for column in tables.trials.columns)
    assert tables.sweep.capacity.per_node >= 1


def test_a_run_of_the_previous_format_is_recommended_from_as_it_was() -> None:
    before = json.loads((FORMAT_1 / "recommended.json").read_text())
    now = content_of(load_run(FORMAT_1))
    worded = {"how_sure", "notes", "beside_others", "interference"}
    same = {*before} & {*now} - worded - {"speedup", "drift"}
    assert {"config", "command", "verdict", "noise_floor", "why", "rule"} <= same
    assert {k: now[k] for k in same} == {k: before[k] for k in same}
    # An accuracy is over all rounds now, over clean runs then; a speed over the clean rounds.
    other = {"val_acc", "samples_per_s", "samples_per_s_low", "samples_per_s_high"}
    shared = {*before} & {*now["figures"]} - other
    assert "test_acc" in shared
    assert {k: now["figures"][k] for k in shared} == {k: before[k] for k in shared}
    assert now["figures"]["samples_per_s"] == pytest.approx(before["samples_per_s"], rel=0.01)
    assert before["speedup"]["high"] > 35, "0.67x, 95 % interval 0.01x to 35.07x"
    assert now["speedup"]["ratio"] is None
    assert now["speedup"]["why_not_known"].startswith("other load disturbed 1 of 2 pairs")
    assert len(now["notes"]) == len(before["notes"])
    assert now["num_runs"] == {"speed": 1, "accuracy": 2}, "of two rounds one is clean"
    assert before["beside_others"]["high"] / before["beside_others"]["low"] > 6
    assert now["interference"]["ratio_to_isolated"] is None
    assert (now["drift"]["change"], now["drift"]["per_hour"]) == (None, None)
