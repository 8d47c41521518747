from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from orchestrator.errors import DataError
from trainables.data.formats import numbers_file
from trainables.data.formats.numbers_file import (
    Content,
    Said,
    Table,
    measure,
    single_count,
    text_rows,
)


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


def test_a_long_field_is_shown_in_part(file: Path) -> None:
    file.write_bytes(gzip.compress(b"x" * 10_000))
    with pytest.raises(DataError) as error:
        measure(file, Content.COUNTS)
    assert len(error.value.message) < 300


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


def test_a_changed_byte_is_noticed(file: Path) -> None:
    packed = bytearray(gzip.compress(b"".join(b"%d\n" % i for i in range(1000))))
    packed[-6] ^= 1  # the checksum
    file.write_bytes(packed)
    with pytest.raises(DataError, match="is not a whole gzip file"):
        measure(file, Content.COUNTS)


def test_a_missing_file_says_what_is_there(file: Path) -> None:
    (file.parent / "y.csv.gz").touch()
    with pytest.raises(DataError, match=r"x\.csv\.gz is missing") as error:
        measure(file, Content.COUNTS)
    assert error.value.hint.endswith("holds: y.csv.gz")


def test_a_single_count(file: Path) -> None:
    file.write_bytes(gzip.compress(b"12\n"))
    assert single_count(file) == 12
    file.write_bytes(gzip.compress(b"12\n13\n"))
    with pytest.raises(DataError, match="2 rows of 1 numbers"):
        single_count(file)


def test_what_unpacks_to_gigabytes_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers_file, "_CHUNK_BYTES", 8)
    monkeypatch.setattr(numbers_file, "_MOST_OF_A_LINE", 16)
    monkeypatch.setattr(numbers_file, "_MOST_OF_NAMES", 16)
    monkeypatch.setattr(numbers_file, "_FAR_MORE", 2)
    file.write_bytes(gzip.compress(b"0" * 100))
    with pytest.raises(DataError, match="a line is too long"):
        single_count(file)
    with pytest.raises(DataError, match="is too long"):
        text_rows(file)
    file.write_bytes(gzip.compress(b"0\n" * 100))
    with pytest.raises(DataError, match="more than 3 rows, which x says"):
        measure(file, Content.COUNTS, rows=Said(3, Path("x")))
