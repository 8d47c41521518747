"""Images as mapped arrays, and the part of them that is held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from orchestrator.data import DataFolders
from trainables.data.formats.image_data import ImageData, save_images
from trainables.data.sets.digits import DIGITS


def test_images_are_mapped_and_not_read(folders: DataFolders) -> None:
    images = ImageData.open(DIGITS.prepare(folders).path)
    assert str(folders.cache) in Path("/proc/self/maps").read_text()
    images.train_images[0, 0, 0] = 77  # stays in this process
    assert ImageData.open(DIGITS.prepare(folders).path).train_images[0, 0, 0] == 0


def test_a_twelfth_is_held_out(folders: DataFolders) -> None:
    images = ImageData.open(DIGITS.prepare(folders).path)
    split = images.split()
    assert len(split.val) == round(1437 / 12)
    assert sorted([*split.train.tolist(), *split.val.tolist()]) == list(range(1437))
    again, other = images.split(), images.split(seed=1)
    assert torch.equal(split.val, again.val)
    assert not torch.equal(split.val, other.val)


def test_a_number_or_nothing_is_held_out(folders: DataFolders) -> None:
    images = ImageData.open(DIGITS.prepare(folders).path)
    assert [len(part) for part in (images.split(200).train, images.split(200).val)] == [1237, 200]
    assert torch.equal(images.split(0).train, torch.arange(1437))
    assert images.split(0).val.shape == (0,)
    with pytest.raises(ValueError, match=r"validation must be in 0 \.\. 1436, but got 1437"):
        images.split(1437)


def test_arrays_are_written_in_the_types_that_are_promised(tmp_path: Path) -> None:
    arrays = {
        "train_images": np.full((3, 28, 28), 255), "train_labels": np.array([1, 2, 9], np.int8),
        "test_images": np.zeros((1, 28, 28), np.int32), "test_labels": np.array([0], np.uint8),
    }  # fmt: skip
    assert save_images(tmp_path, arrays) == {"train": 3, "test": 1, "classes": 10}
    written = {path.stem: np.load(path) for path in tmp_path.iterdir()}
    assert set(written) == set(arrays)
    assert {name: array.dtype.name for name, array in written.items()} == {
        "train_images": "uint8", "train_labels": "int64",
        "test_images": "uint8", "test_labels": "int64",
    }  # fmt: skip
    assert all(np.array_equal(written[name], array) for name, array in arrays.items())
