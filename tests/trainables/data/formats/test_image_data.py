"""Images as mapped arrays, and their held-out part."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from trainables.data.formats.idx import idx_beginning, idx_shape, read_idx
from trainables.data.formats.image_data import ImageData
from trainables.data.sets.digits import DIGITS


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


VALUES = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)
CONTENT = struct.pack(">4I", 0x803, 4, 3, 2) + VALUES.tobytes()


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_bytes_are_read_in_their_shape(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONTENT) if path.suffix else CONTENT)
    assert idx_shape(path, 3) == (4, 3, 2)
    assert idx_beginning(path, 3, 5) == bytes([0, 1, 2, 3, 4])
    assert np.array_equal(read_idx(path, 3), VALUES)


def test_bytes_behind_the_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(CONTENT + b"x")
    with pytest.raises(DataError, match="25 bytes after the header"):
        read_idx(tmp_path / "images", 3)


def test_digits_are_images_of_the_same_kind(folders: DataFolders, no_network: None) -> None:
    from sklearn.datasets import load_digits

    assert DIGITS.embedded
    assert DIGITS.present(folders)
    data = DIGITS.prepare(folders)
    images = ImageData.open(data.path)
    assert data.facts == {"train": 1437, "test": 360, "classes": 10}
    assert images.train_images.shape == (1437, 28, 28)
    assert images.train_images.dtype == torch.uint8
    assert (images.train_images.min().item(), images.train_images.max().item()) == (0, 255)
    counts = torch.cat([images.train_labels, images.test_labels]).bincount()
    assert counts.tolist() == np.bincount(load_digits().target).tolist()
    assert images.test_labels.bincount().min() >= 34
    assert images.test_labels.bincount().max() <= 38
