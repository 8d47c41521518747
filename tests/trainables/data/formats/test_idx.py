"""IDX files: the bytes in their shape, packed or not; faults are named in ``test_mnist.py``."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from trainables.data.formats.idx import idx_beginning, idx_shape, read_idx

VALUES = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)
CONTENT = struct.pack(">4I", 0x803, 4, 3, 2) + VALUES.tobytes()


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_bytes_are_read_in_their_shape(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONTENT) if path.suffix else CONTENT)
    assert idx_shape(path, 3) == (4, 3, 2)
    assert idx_beginning(path, 3, 5) == bytes([0, 1, 2, 3, 4])
    assert np.array_equal(read_idx(path, 3), VALUES)


def test_the_magic_number_has_the_number_of_dimensions(tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(CONTENT)
    with pytest.raises(DataError, match="magic number 2051") as error:
        read_idx(tmp_path / "images", 1)
    assert error.value.hint == "expected 2049"  # as the format's page has it


def test_bytes_behind_the_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(CONTENT + b"x")
    with pytest.raises(DataError, match="25 or more bytes after the header"):
        read_idx(tmp_path / "images", 3)


def test_no_more_memory_is_taken_than_there_are_bytes(tmp_path: Path) -> None:
    header = struct.pack(">3I", 0x802, 2**31, 4)
    (tmp_path / "labels.gz").write_bytes(gzip.compress(header + bytes(9)))
    tracemalloc.start()
    with pytest.raises(DataError, match="9 bytes after the header"):
        read_idx(tmp_path / "labels.gz", 2)
    assert idx_beginning(tmp_path / "labels.gz", 2, -1) == bytes(9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**27
