import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator.errors import DataError
from trainables.data.formats.plain_pickle import load_mapping, number_array, whole_number


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "meta.pt"


@pytest.mark.parametrize("legacy", [False, True])
def test_arrays_and_numbers(file: Path, legacy: bool) -> None:
    saved = {
        "int": 3, "float": 0.5, "text": "a", "list": [1, 2], "numpy": np.int64(4),
        "half": np.zeros(2, np.float16), "ids": np.arange(3), "tensor": torch.arange(2),
    }  # fmt: skip
    torch.save(saved, file, _use_new_zipfile_serialization=not legacy)
    loaded = load_mapping(file)
    assert {name: loaded[name] for name in ("int", "float", "text", "list", "numpy")} == {
        "int": 3, "float": 0.5, "text": "a", "list": [1, 2], "numpy": 4,
    }  # fmt: skip
    assert loaded["ids"].tolist() == [0, 1, 2]
    assert loaded["tensor"].tolist() == [0, 1]
    assert loaded["half"].dtype == np.float16


def test_arrays_saved_under_numpy_1(file: Path) -> None:
    """Its modules had other names, which old files contain."""
    torch.save({"ids": np.arange(3)}, file, _use_new_zipfile_serialization=False)
    content = file.read_bytes()
    assert b"numpy._core.multiarray" in content
    file.write_bytes(content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    assert load_mapping(file)["ids"].tolist() == [0, 1, 2]


class Mischief:
    """Object that makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("forced", ["", "1"])
def test_code_is_refused_and_not_run(
    file: Path, monkeypatch: pytest.MonkeyPatch, legacy: bool, forced: str
) -> None:
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", forced)
    made = file.with_name("made")
    torch.save(
        {"paper": 3, "author": Mischief(made)}, file, _use_new_zipfile_serialization=not legacy
    )
    with pytest.raises(DataError, match=r"meta\.pt holds posix\.mkdir: refused, nothing of it"):
        load_mapping(file)
    assert not made.exists()


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 and no archive"])
def test_a_damaged_file(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"meta\.pt is damaged"):
        load_mapping(file)


def test_a_missing_file_and_another_content(file: Path) -> None:
    with pytest.raises(DataError, match=r"meta\.pt is missing"):
        load_mapping(file)
    torch.save([1, 2], file)
    with pytest.raises(DataError, match="holds a list\n  expected a dictionary"):
        load_mapping(file)


@pytest.mark.parametrize("value", [None, 0, -1, 2.5, True, "3", np.arange(2)])
def test_what_is_no_count(file: Path, value: object) -> None:
    with pytest.raises(DataError, match=r"meta\.pt: 'paper' is .*\n.* must be a whole number"):
        whole_number(file, {} if value is None else {"paper": value}, "paper")


@pytest.mark.parametrize("value", [None, 3, [1], np.zeros(2), np.zeros((2, 2), int)])
def test_what_is_no_array_of_numbers(file: Path, value: object) -> None:
    with pytest.raises(DataError, match=r"meta\.pt: 'train' is no array of whole numbers"):
        number_array(file, {} if value is None else {"train": value}, "train")
