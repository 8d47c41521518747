"""digits: 1,797 handwritten digits that come with scikit-learn, scaled to 28 x 28.

From the UCI repository's Optical Recognition of Handwritten Digits: 8 x 8 counts of 0 to 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator.data import DataFolders, PreparedData
from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array
from trainables.data.formats.conversion import Conversion
from trainables.data.formats.image_data import KIND, SIDE, save_images
from trainables.data.formats.packages import needing

_VERSION = 1
_NUM_TEST = 360
_SPLIT_SEED = 0
_LARGEST = 16


@dataclass(frozen=True, kw_only=True)
class Digits:
    """The data set ``digits``: there without any network."""

    name = "digits"
    embedded = True
    how_to_get = "it comes with scikit-learn"

    def at(self, variant: str) -> Digits:
        """There is one only.

        Raises:
            DataError: Always.
        """
        raise DataError(f"{self.name} has no variant {variant!r}", f"say {self.name}")

    def present(self, folders: DataFolders) -> bool:
        """Return True: the set comes with scikit-learn."""
        return True

    def name_in(self, folders: DataFolders) -> str:
        """Return its name. See :class:`orchestrator.data.DataSet`."""
        return self.name

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Scale it once. See :class:`orchestrator.data.DataSet`."""
        conversion = Conversion(
            name=self.name,
            kind=KIND,
            source="scikit-learn",
            key=self.name,
            signature=f"v{_VERSION}",
        )
        return conversion.prepare(folders.cache, _convert)


DIGITS = Digits()


def _convert(folder: Path) -> Mapping[str, int]:
    with needing("scikit-learn", "the data set digits"):
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

    digits = load_digits()
    train, test = train_test_split(
        np.arange(len(digits.target)),
        test_size=_NUM_TEST,
        random_state=_SPLIT_SEED,
        stratify=digits.target,
    )
    images = _enlarged(digits.images)
    return save_images(
        folder,
        {
            "train_images": images[train],
            "train_labels": digits.target[train],
            "test_images": images[test],
            "test_labels": digits.target[test],
        },
    )


def _enlarged(images: Array) -> Array:
    """8 x 8 images of 0 to 16 as 28 x 28 images of 0 to 255, interpolated linearly.

    Like MNIST's, the digits keep a margin: 24 x 24 pixels of content within 28 x 28.
    """
    margin = 2
    positions = np.linspace(0, images.shape[1] - 1, SIDE - 2 * margin)
    low = np.minimum(positions.astype(int), images.shape[1] - 2)
    share = positions - low
    rows = images[:, low] * (1 - share)[:, None] + images[:, low + 1] * share[:, None]
    both = rows[:, :, low] * (1 - share) + rows[:, :, low + 1] * share
    padded = np.pad(both, ((0, 0), (margin, margin), (margin, margin)))
    return np.rint(padded * (255 / _LARGEST)).astype(np.uint8)
