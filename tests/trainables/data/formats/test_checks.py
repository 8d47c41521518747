"""Checks of arrays: each names the place and the value, and lets good ones pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from trainables.data.formats import checks
from trainables.data.formats.checks import (
    check_finite,
    check_range,
    check_splits,
    check_whole,
    items,
    lines,
)

FILE = Path("labels.csv")
LINES, ITEMS = lines(FILE), items(Path("edges.npy"), "edge")


def check_some_splits(**splits: list[int]) -> None:
    arrays = {name: np.array(nodes, np.int64) for name, nodes in splits.items()}
    check_splits(arrays, {name: lines(Path(f"{name}.csv")) for name in splits}, 10)


FAULTS: dict[str, tuple[Callable[[], None], str, str]] = {
    "too large": (
        lambda: check_range(np.array([0, 9, 10]), 10, LINES, "label"),
        "labels.csv:3: label 10 does not exist",
        "allowed: 0 to 9",
    ),
    "below zero, in a part of a file": (
        lambda: check_range(np.array([[0, 1], [2, -1]]), 10, ITEMS, "node", first=100),
        "edges.npy: edge[101]: node -1 does not exist",
        "allowed: 0 to 9",
    ),
    "a fraction": (
        lambda: check_whole(np.array([1.0, 2.5]), LINES, "label", first=7),
        "labels.csv:9: label 2.5 is not whole",
        "every label must be a whole number",
    ),
    "infinite": (
        lambda: check_finite(np.array([[0.0, 1.0], [2.0, -np.inf]]), LINES),
        "labels.csv:2: column 2 is -inf",
        "every feature must be a finite number",
    ),
    "in two splits": (
        lambda: check_some_splits(train=[1, 2], test=[3, 2]),
        "test.csv:2: node 2 is also in 'train'",
        "one of the splits only",
    ),
    "twice in one split": (
        lambda: check_some_splits(train=[1, 2, 1]),
        "train.csv:3: node 1 is given twice",
        "one of the splits only",
    ),
    "no node of a split": (
        lambda: check_some_splits(train=[1], test=[10]),
        "test.csv:1: node 10 does not exist",
        "allowed: 0 to 9",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_place(fault: str) -> None:
    check, message, hint = FAULTS[fault]
    with pytest.raises(DataError) as error:
        check()
    assert message in str(error.value)
    assert hint in error.value.hint


def test_what_is_right_passes() -> None:
    check_range(np.array([0, 9]), 10, LINES, "label")
    check_whole(np.array([-1.0, 3.0]), LINES, "label")
    check_finite(np.array([[0.0, -1e30]]), LINES)
    check_some_splits(train=[1, 2], val=[3], test=[0, 9])
    check_some_splits(train=[], test=[])


def test_rows_are_counted_over_all_parts_that_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "_CHUNK_ROWS", 3)
    features = np.zeros((10, 2))
    features[7, 0] = np.nan
    with pytest.raises(DataError, match=r"labels\.csv:1008: column 1 is nan"):
        check_finite(features, LINES, first=1000)
