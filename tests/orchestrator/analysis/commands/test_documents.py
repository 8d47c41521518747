"""One JSON document on standard output."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.commands.documents import plain, rows_of, write_document
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
