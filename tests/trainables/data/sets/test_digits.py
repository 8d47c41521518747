"""digits: images of MNIST's kind that are there without any network."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from trainables.data.formats.image_data import ImageData
from trainables.data.sets.digits import DIGITS


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


def test_digits_can_be_told_apart_by_their_pixels(folders: DataFolders) -> None:
    images = ImageData.open(DIGITS.prepare(folders).path)
    means = torch.stack(
        [images.train_images[images.train_labels == digit].float().mean(0) for digit in range(10)]
    )
    nearest = torch.cdist(images.test_images.flatten(1).float(), means.flatten(1)).argmin(1)
    assert (nearest == images.test_labels).float().mean() > 0.85


def test_digits_have_no_variants() -> None:
    with pytest.raises(DataError, match=r"digits has no variant '0\.5'"):
        DIGITS.at("0.5")


def test_images_have_a_margin_and_keep_their_brightest_pixels(folders: DataFolders) -> None:
    images = ImageData.open(DIGITS.prepare(folders).path).train_images
    frame = torch.ones(28, 28, dtype=torch.bool)
    frame[2:-2, 2:-2] = False
    assert not images[:, frame].any()
    assert (images.flatten(1).max(1).values > 200).all()


def test_a_second_preparation_is_the_first_one_s(folders: DataFolders) -> None:
    first = DIGITS.prepare(folders)
    written = first.path.stat().st_mtime_ns
    assert DIGITS.prepare(folders) == first
    assert first.path.stat().st_mtime_ns == written
