"""The run that a command is about, and one JSON document on standard output."""

from __future__ import annotations

import json
import math
import os
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.commands.documents import plain, rows_of, run_directory, write_document
from orchestrator.analysis.commands.parser import latest_run
from orchestrator.errors import RunDirectoryError
from tests.orchestrator.analysis.made_runs import MadeRun, config


class Word(StrEnum):
    YES = "yes, it is"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, None),
        (math.inf, None),
        (np.float64("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (Word.YES, "yes, it is"),
        (Path("a/b"), "a/b"),
        ((1, [2.5, math.nan]), [1, [2.5, None]]),
        (np.array([1.0, math.nan]), [1.0, None]),
        ({"a": {1: math.nan}}, {"a": {"1": None}}),
        (pd.Timestamp("2026-11-26T01:02:03Z"), "2026-11-26 01:02:03+00:00"),
    ],
)
def test_values_are_plain_and_what_is_not_known_is_null(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_a_document_has_its_version_first(capsys: pytest.CaptureFixture[str]) -> None:
    write_document("front", {"figure": math.nan})
    document = json.loads(capsys.readouterr().out)
    assert list(document.items()) == [("schema_version", 1), ("command", "front"), ("figure", None)]


def test_rows_have_their_config_as_python_has_it() -> None:
    run = MadeRun()
    run.add(config(fanouts=(5, 10)))
    (row,) = rows_of(run.trials, run.record)
    assert row["config"]["fanouts"] == (5, 10)
    assert row["config"]["persistent_workers"] is True
    assert "samples_per_s" in row
    assert not [name for name in row if name.startswith(("params.", "metrics."))]


def folder_of_runs(folder: Path, names: list[str]) -> Path:
    """Runs that were started in this order, told by their record alone."""
    for second, name in enumerate(names):
        record = folder / name / "sweep.json"
        record.parent.mkdir(parents=True)
        record.write_text("{}")
        os.utime(record, (second, second))
    return folder


def test_of_a_folder_of_runs_none_is_taken_and_the_latest_is_named(tmp_path: Path) -> None:
    runs = folder_of_runs(tmp_path / "runs", ["b/2", "a/1"])
    for folder, latest in ((runs, "a/1"), (runs / "b", "b/2")):
        with pytest.raises(RunDirectoryError, match="is a folder of runs, not a run") as refused:
            run_directory(str(folder))
        assert refused.value.hint.startswith("the latest of them: ")
        assert refused.value.hint.endswith(f"python -m orchestrator.analysis {runs / latest}")


def test_what_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirectoryError, match="file: is a file, not the folder of a run"):
        run_directory(str(tmp_path / "file"))
    with pytest.raises(RunDirectoryError, match="nowhere: there is no such folder"):
        run_directory("nowhere")
    assert latest_run(tmp_path) is None
    folder_of_runs(tmp_path, ["first"])
    with pytest.raises(RunDirectoryError, match="there is no such folder; did you mean 'first'"):
        run_directory(str(tmp_path / "frist"))
