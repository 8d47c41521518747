from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.errors import SweepError

TABLES = ["trials", "configs", "front", "curves", "steps", "columns"]

FRAME = pd.DataFrame(
    {
        "text": ["=1+1", "@cmd", "'quoted", 'plain, with "marks"\nand lines', None],
        "figure": [0.1 + 0.2, 1e-300, math.inf, math.nan, -5.0],
        "count": pd.array([1, 2, None, 4, 5], dtype="Int64"),
        "flag": pd.array([True, False, None, True, True], dtype="boolean"),
        "ids": [("a", "b"), (), ["=c"], ("d",), ("e",)],
        "at": pd.to_datetime(["2026-01-02T03:04:05.678Z"] * 5),
    }
)


def test_parquet_reads_back_equal_types_included(run: an.RunTables, tmp_path: Path) -> None:
    paths = an.export(run, tmp_path / "new" / "folder", format="parquet")
    assert [path.name for path in paths] == [f"{name}.parquet" for name in TABLES]
    expected = {"trials": run.trials, "configs": an.configs(run), "curves": run.curves}
    for name, frame in expected.items():
        found = pd.read_parquet(tmp_path / "new" / "folder" / f"{name}.parquet")
        lists = [c for c in frame.columns if isinstance(frame[c].iloc[0], tuple)]
        for column in lists:
            assert found[column].map(tuple).tolist() == frame[column].tolist()
        pd.testing.assert_frame_equal(found.drop(columns=lists), frame.drop(columns=lists))


def test_a_csv_reads_back_equal(run: an.RunTables, tmp_path: Path) -> None:
    an.export(run, tmp_path)
    dtypes: Any = run.trials.dtypes.drop("started_at").to_dict()
    found = pd.read_csv(
        tmp_path / "trials.csv",
        dtype=dtypes,
        parse_dates=["started_at"],
    )
    pd.testing.assert_frame_equal(
        found.astype({"started_at": run.trials["started_at"].dtype}), run.trials
    )
    configs = pd.read_csv(tmp_path / "configs.csv")
    assert (
        configs["trial_ids"].map(json.loads).map(tuple).tolist()
        == an.configs(run)["trial_ids"].tolist()
    )


def test_no_spreadsheet_takes_text_for_a_formula(tmp_path: Path) -> None:
    (path,) = an.export(FRAME, tmp_path, name="mine")
    assert path == tmp_path / "mine.csv"
    found = pd.read_csv(path)
    assert found["text"].tolist()[:4] == [
        "'=1+1", "'@cmd", "''quoted", "plain, with \"marks\"\nand lines",
    ]  # fmt: skip
    assert found["ids"].map(json.loads).tolist() == [["a", "b"], [], ["=c"], ["d"], ["e"]]
    assert found["figure"].tolist()[:3] == [0.1 + 0.2, 1e-300, math.inf]
    assert found["count"].isna().tolist() == [False, False, True, False, False]


def test_candidates_of_a_factored_search_are_a_table(
    factored: an.RunTables, tmp_path: Path
) -> None:
    assert [p.stem for p in an.export(factored, tmp_path)] == [*TABLES, "candidates"]


def test_wrong_use_is_named(run: an.RunTables, tmp_path: Path) -> None:
    with pytest.raises(an.TableError, match="unknown format 'parqet'; did you mean 'parquet'"):
        an.export(run, tmp_path, format="parqet")
    with pytest.raises(an.TableError, match="not a dict"):
        an.export({}, tmp_path)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="file: cannot be used"):
        an.export(run, tmp_path / "file")
