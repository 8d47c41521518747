from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from analysis.recommendation.recommend import recommend
from analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
from tests.analysis.made_runs import MadeRun

FORMAT_1 = Path(__file__).parents[2] / "fixtures" / "run_format_1"


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
    now = json.loads(json.dumps(recommend(load_run(FORMAT_1)).to_json()))
    worded = {"how_sure", "notes", "beside_others", "interference"}
    added = {"num_runs", "val_majority_share", "composed"}
    counted = {"val_acc"}  # over all runs now, over those with a clean speed then
    assert {"text", *now["speedup"]} == {*before["speedup"]}
    for content in (before, now):
        content["speedup"].pop("text")
    differs = worded | added | counted
    assert {k: now[k] for k in {*now} - differs} == {k: before[k] for k in {*before} - differs}
    assert len(now["notes"]) == len(before["notes"])
    assert now["num_runs"] == {"speed": 2, "accuracy": 3}
    assert now["interference"]["ratio_to_isolated"] == before["beside_others"]["ratio_to_alone"]
