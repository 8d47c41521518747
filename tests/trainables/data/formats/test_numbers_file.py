"""Checks of arrays: each names the place and the value, and lets good ones pass."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from trainables.data.formats import checks, numbers_file
from trainables.data.formats.checks import (
    check_finite,
    check_range,
    check_splits,
    check_whole,
    items,
    lines,
)
from trainables.data.formats.numbers_file import Content, Table, measure, single_count


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.csv.gz"


@pytest.mark.parametrize(
    ("text", "content", "table"),
    [
        ("1\n2\n3\n", Content.COUNTS, (3, 1)),
        ("1,2\n3,4", Content.COUNTS, (2, 2)),
        ("1,2\r\n3,4\r\n", Content.COUNTS, (2, 2)),
        ("0.5,-1e-3,+2,.5,3.\n1,2,3,4,5\n", Content.REALS, (2, 5)),
    ],
)
def test_numbers(file: Path, text: str, content: Content, table: tuple[int, int]) -> None:
    file.write_bytes(gzip.compress(text.encode()))
    assert measure(file, content) == Table(num_rows=table[0], num_columns=table[1])


FAULTS = {
    "letters": ("1,2\n3,four\n", Content.COUNTS, ":2: 'four' is not a whole number"),
    "a fraction": ("1\n2\n3.5\n", Content.COUNTS, ":3: '3.5' is not a whole number"),
    "negative": ("1\n-2\n", Content.COUNTS, ":2: '-2' is not a whole number, 0 or more"),
    "blank": ("1\n 2\n", Content.COUNTS, ":2: ' 2' is not"),
    "empty line": ("1\n\n2\n", Content.COUNTS, ":2: '' is not"),
    "empty first line": ("\n1\n2\n", Content.COUNTS, ":1: '' is not"),
    "empty field": ("1,2\n3,\n", Content.COUNTS, ":2: '' is not"),
    "empty last field": ("1,2\n3,", Content.COUNTS, ":2: '' is not"),
    "few fields": ("1,2\n3\n4,5\n", Content.COUNTS, ":2: 1 fields, the first line has 2"),
    "many fields": ("1,2\n3,4,5\n", Content.COUNTS, ":2: 3 fields, the first line has 2"),
    "a header": ("node\n1\n", Content.COUNTS, ":1: 'node' is not"),
    "nan": ("1.0\nnan\n", Content.REALS, ":2: 'nan' is not a finite number"),
    "inf": ("1.0\n-inf\n", Content.REALS, ":2: '-inf' is not a finite number"),
    "no real": ("1.0\n0x12\n", Content.REALS, ":2: '0x12' is not a finite number"),
    "binary": ("1\n\0\n", Content.COUNTS, r":2: '\x00' is not"),
    "nothing": ("", Content.COUNTS, " is empty"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_line(file: Path, fault: str) -> None:
    text, content, message = FAULTS[fault]
    file.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataError) as error:
        measure(file, content)
    assert error.value.message.startswith(f"{file}{message}")


def test_lines_are_counted_over_chunks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers_file, "_CHUNK_BYTES", 10)
    file.write_bytes(gzip.compress(b"".join(b"%d,%d\n" % (i, i) for i in range(1000))))
    assert measure(file, Content.COUNTS) == Table(num_rows=1000, num_columns=2)
    file.write_bytes(gzip.compress(b"1234\n" * 700 + b"x\n" + b"1234\n" * 50))
    with pytest.raises(DataError, match=":701: 'x'"):
        measure(file, Content.COUNTS)


def test_a_truncated_file(file: Path) -> None:
    packed = gzip.compress(b"123,456\n" * 10_000)
    for length in (len(packed) - 1, len(packed) // 2, 12):
        file.write_bytes(packed[:length])
        with pytest.raises(DataError, match=r"x\.csv\.gz is truncated"):
            measure(file, Content.COUNTS)


@pytest.mark.parametrize("content", [b"1,2\n", b"\x1f\x8b\x08" + b"\xff" * 40])
def test_a_file_that_is_not_packed(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"x\.csv\.gz is not a whole gzip file|truncated"):
        measure(file, Content.COUNTS)


def test_a_single_count(file: Path) -> None:
    file.write_bytes(gzip.compress(b"12\n"))
    assert single_count(file) == 12
    file.write_bytes(gzip.compress(b"12\n13\n"))
    with pytest.raises(DataError, match="2 rows of 1 numbers"):
        single_count(file)


FILE = Path("labels.csv")
LINES, ITEMS = lines(FILE), items(Path("edges.npy"), "edge")


def check_some_splits(**splits: list[int]) -> None:
    arrays = {name: np.array(nodes, np.int64) for name, nodes in splits.items()}
    check_splits(arrays, {name: lines(Path(f"{name}.csv")) for name in splits}, 10)


CHECKED: dict[str, tuple[Callable[[], None], str, str]] = {
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


@pytest.mark.parametrize("fault", CHECKED)
def test_a_checked_fault_is_named_with_its_place(fault: str) -> None:
    check, message, hint = CHECKED[fault]
    with pytest.raises(DataError) as error:
        check()
    assert message in str(error.value)
    assert hint in error.value.hint


def test_rows_are_counted_over_all_parts_that_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "_CHUNK_ROWS", 3)
    features = np.zeros((10, 2))
    features[7, 0] = np.nan
    with pytest.raises(DataError, match=r"labels\.csv:1008: column 1 is nan"):
        check_finite(features, LINES, first=1000)
