"""Reader of the IDX format of MNIST's files; names what is wrong with one."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array

_HEADER_MAGIC = 4


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected content of a file of unsigned bytes.

    Attributes:
        shape: Items, and rows and columns of each if it is an image.
        limit: First value that is too large.
    """

    shape: tuple[int, ...]
    limit: int = 256

    @property
    def magic(self) -> int:
        """The number that the file begins with: type 8, number of dimensions."""
        return 0x800 + len(self.shape)


def read_idx(path: Path, expected: Expected) -> Array:
    """The unsigned bytes in a file, packed with gzip or not, in their shape.

    Raises:
        DataError: It is truncated, begins with another number, has another shape, or holds
            a value that is too large.
    """
    content = _content(path)
    header = _HEADER_MAGIC * (1 + len(expected.shape))
    if len(content) < header:
        raise DataError(f"{path} is truncated: {len(content)} bytes", "get it again")
    magic, *shape = struct.unpack(f">{1 + len(expected.shape)}I", content[:header])
    if magic != expected.magic:
        raise DataError(
            f"{path} is not what its name says: magic number {magic}", f"expected {expected.magic}"
        )
    if tuple(shape) != expected.shape:
        raise DataError(f"{path}: shape {_shown(shape)}", f"expected {_shown(expected.shape)}")
    if len(content) != header + prod(shape):
        raise DataError(
            f"{path}: {len(content) - header} bytes after the header",
            f"expected {prod(shape)}: {_shown(shape)}; get it again",
        )
    _check_values(path, content[header:], expected.limit)
    return np.frombuffer(content, np.uint8, offset=header).reshape(expected.shape)


def _content(path: Path) -> bytes:
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            return file.read()
    except EOFError:
        raise DataError(f"{path} is truncated: it ends in the middle", "get it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}", "get it again") from None


def _check_values(path: Path, values: bytes, limit: int) -> None:
    rest = values.translate(None, bytes(range(limit)))
    if rest:
        place = values.index(rest[:1])
        raise DataError(
            f"{path}: item {place + 1} is {values[place]}", f"allowed: 0 to {limit - 1}"
        )


def _shown(shape: tuple[int, ...] | list[int]) -> str:
    return " x ".join(map(str, shape))
