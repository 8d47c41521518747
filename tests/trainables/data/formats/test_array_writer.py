from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trainables.data.formats.array_writer import ArrayWriter
from trainables.data.formats.arrays import Array


@pytest.mark.parametrize("row", [(), (3,), (2, 5)])
@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.uint8])
def test_pieces_become_one_array(tmp_path: Path, row: tuple[int, ...], dtype: type) -> None:
    pieces: list[Array] = [np.full((n, *row), n, dtype=dtype) for n in (4, 0, 1, 7)]
    with ArrayWriter(tmp_path / "a.npy", dtype, row) as writer:
        for piece in pieces:
            writer.append(piece)
        assert writer.num_rows == 12
    array = np.load(tmp_path / "a.npy")
    assert array.dtype == dtype
    assert np.array_equal(array, np.concatenate(pieces))


def test_what_is_written_can_be_read_before_the_rest(tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "a.npy", np.int64) as writer:
        writer.append(np.arange(3))
        writer.flush()
        first = np.load(tmp_path / "a.npy", mmap_mode="r")
        writer.append(np.arange(3, 1000))
        assert first.tolist() == [0, 1, 2]
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.arange(1000))


def test_other_types_are_converted(tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "a.npy", np.float16, (2,)) as writer:
        writer.append(np.ones((3, 2), dtype=np.float32))
    assert np.load(tmp_path / "a.npy").dtype == np.float16
