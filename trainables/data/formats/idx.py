"""Reader of the IDX format of MNIST's files; names what is wrong with one."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array

_UNSIGNED_BYTES = 0x800
"""Added to the number of dimensions, it is the number that a file of them begins with."""
_NUMBER = 4
_File = BinaryIO | gzip.GzipFile


def idx_shape(path: Path, num_dimensions: int) -> tuple[int, ...]:
    """Return the shape in a file's header; nothing else is read.

    Args:
        path: A file, packed with gzip or not.
        num_dimensions: Number of dimensions that it must have.

    Raises:
        DataError: The file is missing or truncated, or begins with another number.
    """
    with _opened(path) as file:
        return _header(path, file, num_dimensions)


def idx_beginning(path: Path, num_dimensions: int, num_bytes: int) -> bytes:
    """Return the first bytes after a file's header.

    Raises:
        DataError: As of :func:`idx_shape`.
    """
    with _opened(path) as file:
        size = prod(_header(path, file, num_dimensions))
        content = file.read()[:size]
    return content if num_bytes < 0 else content[:num_bytes]


def read_idx(path: Path, num_dimensions: int) -> Array:
    """The unsigned bytes in a file, in their shape.

    Raises:
        DataError: As of :func:`idx_shape`, or the content is not of the size in the header.
    """
    with _opened(path) as file:
        shape = _header(path, file, num_dimensions)
        content = file.read()
    if len(content) != prod(shape):
        raise DataError(
            f"{path}: {len(content)} bytes after the header",
            f"expected {prod(shape)}: {' x '.join(map(str, shape))}; get it again",
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


@contextmanager
def _opened(path: Path) -> Iterator[_File]:
    try:
        if path.suffix != ".gz":
            with path.open("rb") as plain:
                yield plain
        else:
            with gzip.open(path) as packed:
                yield packed
    except FileNotFoundError:
        raise DataError(f"{path} is missing") from None
    except EOFError:
        raise DataError(f"{path} is truncated: it ends in the middle", "get it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}", "get it again") from None


def _header(path: Path, file: _File, num_dimensions: int) -> tuple[int, ...]:
    given = file.read(_NUMBER * (1 + num_dimensions))
    if len(given) < _NUMBER * (1 + num_dimensions):
        raise DataError(f"{path} is truncated: {len(given)} bytes", "get it again")
    magic, *shape = struct.unpack(f">{1 + num_dimensions}I", given)
    if magic != _UNSIGNED_BYTES + num_dimensions:
        raise DataError(
            f"{path} is not what its name says: magic number {magic}",
            f"expected {_UNSIGNED_BYTES + num_dimensions}",
        )
    return tuple(shape)
