import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from trainables.data.formats.array_writer import ArrayWriter
from trainables.data.formats.arrays import Array, as_tensor, map_array


def test_what_was_saved_is_there(tmp_path: Path) -> None:
    arrays = (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3)), np.empty((0, 4)))
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
        mapped = map_array(tmp_path / f"{number}.npy")
        assert mapped.dtype == array.dtype
        assert np.array_equal(mapped, array)


def test_what_is_written_stays_in_this_process(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(5))
    tensor = as_tensor(map_array(tmp_path / "a.npy"))
    tensor[2] = 7
    assert tensor.tolist() == [0, 0, 7, 0, 0]
    assert map_array(tmp_path / "a.npy").tolist() == [0] * 5


def header(**fields: object) -> bytes:
    """The start of a ``.npy`` file, and nothing after it."""
    file = io.BytesIO()
    whole = {"descr": "<f2", "fortran_order": False, "shape": (2, 3), **fields}
    np.lib.format.write_array_header_1_0(file, whole)
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        header(shape=(10**30,)),
        header(shape=(2**62, 2**62)),
        header(shape=(-5,)),
        header(descr="|O"),
        header(shape=("a",)).replace(b"('a',)", b"(2.5,)"),
        header()[:-20],
        b"\x93NUMPY\x09\x00" + header()[8:],
        archive(),
        pickle.dumps({"a": 1}),
    ],
    ids=[
        "huge",
        "overflowing",
        "negative",
        "objects",
        "fraction",
        "cut",
        "version",
        "npz",
        "pickle",
    ],
)
def test_a_file_that_is_no_array_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npy is damaged"):
        map_array(tmp_path / "a.npy")


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
