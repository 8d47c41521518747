from __future__ import annotations

import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from orchestrator.errors import DataError
from trainables.data.formats.arrays import as_tensor, map_array, release


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


def test_a_file_may_be_larger_than_memory(tmp_path: Path) -> None:
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    num_rows = 2 * memory_bytes // 1024
    path = tmp_path / "large.npy"
    with path.open("wb") as file:  # the file has holes instead of zeros
        header = {"descr": "<f2", "fortran_order": False, "shape": (num_rows, 512)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + num_rows * 1024)
    mapped = as_tensor(map_array(path))
    rows = torch.randint(num_rows, (100,))
    assert mapped.nbytes > memory_bytes
    assert not mapped.index_select(0, rows).any()
    release(mapped.numpy())


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


@pytest.mark.parametrize(("content", "reason"), [(b"", "damaged"), (b"\x93NUMPY", "damaged")])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(DataError, match=rf"a\.npy is {reason}"):
        map_array(tmp_path / "a.npy")
    with pytest.raises(DataError, match=r"b\.npy is missing"):
        map_array(tmp_path / "b.npy")
