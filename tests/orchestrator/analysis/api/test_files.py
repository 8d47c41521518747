from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.api.files import FORMATS
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


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_arrow_and_parquet_read_back_equal_types_included(
    run: an.RunTables, tmp_path: Path, format: str
) -> None:
    paths = an.export(run, tmp_path / "new" / "folder", format=format)
    assert [path.name for path in paths] == [f"{name}.{format}" for name in TABLES]
    read = pd.read_parquet if format == "parquet" else pd.read_feather
    expected = {"trials": run.trials, "configs": an.configs(run), "curves": run.curves}
    for name, frame in expected.items():
        found: pd.DataFrame = read(tmp_path / "new" / "folder" / f"{name}.{format}")
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


@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_no_spreadsheet_takes_text_for_a_formula(tmp_path: Path, format: str) -> None:
    (path,) = an.export(FRAME, tmp_path, format=format, name="mine")
    assert path == tmp_path / f"mine.{format}"
    found = pd.read_csv(path) if format == "csv" else pd.read_excel(path)
    assert found["text"].tolist()[:4] == [
        "'=1+1", "'@cmd", "''quoted", "plain, with \"marks\"\nand lines",
    ]  # fmt: skip
    assert found["ids"].map(json.loads).tolist() == [["a", "b"], [], ["=c"], ["d"], ["e"]]
    figures = found["figure"].astype("float64")
    digits = 0 if format == "csv" else 1e-15
    expected = pytest.approx([0.1 + 0.2, 1e-300, math.inf], rel=digits, abs=0)
    assert figures.tolist()[:3] == expected
    assert found["count"].isna().tolist() == [False, False, True, False, False]
    if format == "xlsx":
        sheet = openpyxl.load_workbook(path)["mine"]
        assert "f" not in {cell.data_type for row in sheet.iter_rows() for cell in row}


def test_a_run_is_one_workbook_with_a_sheet_a_table(factored: an.RunTables, tmp_path: Path) -> None:
    (path,) = an.export(factored, tmp_path, format="xlsx")
    assert path.name == "products_loader.xlsx"
    sheets = pd.read_excel(path, sheet_name=None)
    assert list(sheets) == [*TABLES, "candidates"]
    assert len(sheets["trials"]) == len(factored.trials)
    speeds = factored.trials["metrics.samples_per_s"].tolist()
    assert sheets["trials"]["metrics.samples_per_s"].tolist() == pytest.approx(speeds, rel=1e-15)


def test_a_list_is_a_list_in_arrow_and_nothing_is_escaped(tmp_path: Path) -> None:
    (path,) = an.export(FRAME, tmp_path, format="parquet")
    found = pd.read_parquet(path)
    assert found["ids"].map(list).tolist() == [["a", "b"], [], ["=c"], ["d"], ["e"]]
    assert found["text"].tolist()[0] == "=1+1"


def test_characters_that_a_workbook_cannot_hold_are_replaced(tmp_path: Path) -> None:
    frame = pd.DataFrame({"reason": ["\x1b[31mred\x1b[0m"]})
    (path,) = an.export(frame, tmp_path, format="xlsx")
    assert pd.read_excel(path)["reason"].tolist() == ["\ufffd[31mred\ufffd[0m"]


def test_what_a_workbook_cannot_hold_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = pd.DataFrame({"reason": ["x" * 40_000]})
    with pytest.raises(an.TableError, match=r"a cell of reason in table has 40,000 characters"):
        an.export(long, tmp_path, format="xlsx")
    monkeypatch.setattr("orchestrator.analysis.api.files._SHEET_ROWS", 3)
    with pytest.raises(an.TableError, match="table has 5 rows, a workbook's sheet 3"):
        an.export(FRAME, tmp_path, format="xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_configs_is_exported(empty: an.RunTables, tmp_path: Path) -> None:
    for format in FORMATS:
        assert all(path.is_file() for path in an.export(empty, tmp_path, format=format))
    assert pd.read_csv(tmp_path / "configs.csv").empty


def test_wrong_use_is_named(run: an.RunTables, tmp_path: Path) -> None:
    with pytest.raises(an.TableError, match="unknown format 'parqet'; did you mean 'parquet'"):
        an.export(run, tmp_path, format="parqet")
    with pytest.raises(an.TableError, match="not a dict"):
        an.export({}, tmp_path)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="file: cannot be used"):
        an.export(run, tmp_path / "file")
