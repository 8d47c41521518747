"""Checks of ``.csv.gz`` files of numbers, which name the fault and its line."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from orchestrator.errors import DataError

_CHUNK_BYTES = 1 << 22
_SHOWN_CHARACTERS = 60


class Content(Enum):
    """Allowed content of a file's fields: characters, pattern, and both in words.

    More digits than are matched are more than an integer of 64 bits has room for.
    """

    COUNTS = (b"0123456789", rb"\d{1,18}", "a whole number, 0 or more")
    LABELS = (b"0123456789-.naN", rb"-1|\d{1,15}(\.0*)?|nan|NaN", "a class, or -1 for none")
    REALS = (b"0123456789.eE+-", rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", "a finite number")

    def __init__(self, characters: bytes, field: bytes, words: str) -> None:
        self.allowed = characters + b",\r\n"
        self.field = re.compile(field)
        self.words = words


@dataclass(frozen=True, kw_only=True)
class Table:
    """Size of a file of numbers."""

    num_rows: int
    num_columns: int


@dataclass(frozen=True)
class Said:
    """A number that another file gives."""

    number: int
    by: Path


def require(path: Path) -> None:
    """Check that there is such a file.

    Raises:
        DataError: There is none; the message names what is there.
    """
    if path.is_file():
        return
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    names = sorted(entry.name for entry in folder.iterdir())
    raise DataError(f"{path} is missing", f"{folder} holds: {', '.join(names[:20]) or 'nothing'}")


def measure(
    path: Path, content: Content, *, columns: int | None = None, rows: Said | None = None
) -> Table:
    """Rows and columns of a ``.csv.gz`` file, with all fields checked.

    Streams through the file. Loaders that read it into arrays later drop rows beyond what
    they expect, cut fractions off whole numbers and skip empty lines silently.

    Args:
        path: The file.
        content: Allowed content of its fields.
        columns: How many it must have.
        rows: How many it must have.

    Raises:
        DataError: The file is missing, truncated, no gzip file, of another size, or a field
            is not what ``content`` allows; names the line.
    """
    num_rows, num_columns = 0, 0
    for chunk in _whole_lines(path):
        if num_rows == 0:
            num_columns = chunk.partition(b"\n")[0].count(b",") + 1
        num_lines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        if _suspicious(chunk, content, num_lines * (num_columns - 1)):
            _find_fault(path, chunk, content, num_rows + 1, num_columns)
        num_rows += num_lines
    if num_rows == 0:
        raise DataError(f"{path} is empty", "expected at least one row of numbers")
    if columns not in (None, num_columns):
        raise DataError(f"{path}: {num_columns} numbers in a row", f"expected {columns}")
    if rows is not None and rows.number != num_rows:
        raise DataError(f"{path} has {num_rows} rows, {rows.by} says {rows.number}")
    return Table(num_rows=num_rows, num_columns=num_columns)


def columns_of(path: Path) -> int:
    """Return the number of fields in the first line of a ``.csv.gz`` file; read no further.

    Raises:
        DataError: The file is missing, empty, or no gzip file.
    """
    require(path)
    with _unpacked(path) as file:
        line = file.readline()
    if not line.strip():
        raise DataError(f"{path} is empty", "expected at least one row of numbers")
    return line.count(b",") + 1


def single_count(path: Path) -> int:
    """The one number in a file such as ``num-node-list.csv.gz``.

    Raises:
        DataError: It contains something else.
    """
    table = measure(path, Content.COUNTS)
    if (table.num_rows, table.num_columns) != (1, 1):
        raise DataError(
            f"{path}: {table.num_rows} rows of {table.num_columns} numbers",
            "expected one number: the set is one graph",
        )
    with gzip.open(path) as file:
        return int(file.read())


def check_every_field(path: Path, content: Content) -> None:
    """Check each field separately, in a file that :func:`measure` accepted.

    That is slow, and finds the rest: ``1-2`` has the characters of a number.

    Raises:
        DataError: A field is not what ``content`` allows; names the line.
    """
    num_rows, num_columns = 0, measure(path, content).num_columns
    for chunk in _whole_lines(path):
        _find_fault(path, chunk, content, num_rows + 1, num_columns)
        num_rows += chunk.count(b"\n")


def text_rows(path: Path) -> list[list[str]]:
    """The fields of a short ``.csv.gz`` file of names, line by line.

    Raises:
        DataError: The file is missing, truncated, no gzip file, no text or empty.
    """
    require(path)
    try:
        with _unpacked(path) as file:
            text = file.read().decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no text: {error}") from None
    if not text.strip():
        raise DataError(f"{path} is empty", "expected names")
    return [line.split(",") for line in text.splitlines()]


def _whole_lines(path: Path) -> Iterator[bytes]:
    require(path)
    with _unpacked(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk if chunk.endswith(b"\n") else chunk + file.readline()


@contextmanager
def _unpacked(path: Path) -> Iterator[gzip.GzipFile]:
    """Open a packed file; raise any fault of it as a ``DataError``."""
    try:
        with gzip.open(path) as file:
            yield file
    except EOFError:
        raise DataError(f"{path} is truncated: it ends in the middle", "get it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}", "get it again") from None


def _suspicious(chunk: bytes, content: Content, num_commas: int) -> bool:
    """Return True if a chunk must be read line by line: fast, and True at any fault of form."""
    return (
        bool(chunk.translate(None, content.allowed))
        or chunk.count(b",") != num_commas
        or chunk.startswith((b",", b"\n", b"\r"))
        or chunk.endswith(b",")
        or any(empty in chunk for empty in (b",,", b",\n", b",\r", b"\n,", b"\n\n", b"\n\r"))
    )


def _find_fault(path: Path, chunk: bytes, content: Content, first: int, num_columns: int) -> None:
    for number, line in enumerate(chunk.splitlines(), start=first):
        fields = line.split(b",")
        for field in fields:
            if not content.field.fullmatch(field):
                shown = field[:_SHOWN_CHARACTERS].decode(errors="replace")
                raise DataError(
                    f"{path}:{number}: {shown!r} is not {content.words}",
                    f"every field must be {content.words}",
                )
        if len(fields) != num_columns:
            raise DataError(
                f"{path}:{number}: {len(fields)} fields, the first line has {num_columns}"
            )
