"""Small grey images with labels, as memory-mapped arrays that trials share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array, as_tensor, map_array
from trainables.data.formats.conversion import Manifest

if TYPE_CHECKING:
    import torch

KIND = "images"
SIDE = 28
"""Height and width of an image, in pixels."""
HELD_OUT = 1 / 12
"""Share of the training images that choose settings: 5,000 of MNIST's 60,000."""

_ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Training images to train on, and those to choose settings by.

    Attributes:
        train: Positions, int64, ascending.
        val: Positions, int64, ascending; empty without a hold-out.
    """

    train: torch.Tensor
    val: torch.Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageData:
    """Images of 28 x 28 pixels, and the class of each.

    Attributes:
        name: Name of the data set.
        fingerprint: Hash of the arrays.
        num_classes: Number of classes; a label is in ``0 .. num_classes - 1``.
        train_images: uint8, 0 to 255, ``(num_train, 28, 28)``.
        train_labels: int64, ``(num_train,)``.
        test_images: uint8, ``(num_test, 28, 28)``.
        test_labels: int64, ``(num_test,)``.
    """

    name: str
    fingerprint: str
    num_classes: int
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor

    @classmethod
    def open(cls, folder: Path) -> ImageData:
        """Open converted images without reading them.

        Args:
            folder: The path that a data set's ``prepare`` returns.

        Raises:
            DataError: ``folder`` contains no images, or a file of it is damaged.
        """
        manifest = Manifest.read(folder)
        if manifest.kind != KIND:
            raise DataError(f"{folder} holds {manifest.kind} data, not {KIND}")
        return cls(
            name=manifest.name,
            fingerprint=manifest.fingerprint,
            num_classes=manifest.facts["classes"],
            **{name: as_tensor(map_array(folder / f"{name}.npy")) for name in _ARRAYS},
        )

    def split(self, validation: int | None = None, seed: int = 0) -> Split:
        """Hold training images out, at random.

        Args:
            validation: How many. None: a twelfth, as 5,000 of MNIST's 60,000. 0: none, to
                train on all of them as published figures did.
            seed: The same seed holds out the same images.

        Raises:
            ValueError: ``validation`` is larger than the number of images.
        """
        import torch

        num_images = len(self.train_labels)
        held_out = round(num_images * HELD_OUT) if validation is None else validation
        if not 0 <= held_out < num_images:
            raise ValueError(f"validation must be in 0 .. {num_images - 1}, but got {held_out}")
        order = torch.from_numpy(np.random.default_rng(seed).permutation(num_images))
        return Split(train=order[held_out:].sort().values, val=order[:held_out].sort().values)


def save_images(folder: Path, arrays: Mapping[str, Array]) -> Mapping[str, int]:
    """Write what :class:`ImageData` opens; return its facts.

    Args:
        folder: The folder to write to.
        arrays: ``train_images`` and so on, of any integer type. There are as many classes as
            the training labels go up to.
    """
    for name in _ARRAYS:
        kind = np.uint8 if name.endswith("images") else np.int64
        np.save(folder / f"{name}.npy", arrays[name].astype(kind, copy=False))
    return {
        "train": len(arrays["train_labels"]),
        "test": len(arrays["test_labels"]),
        "classes": int(arrays["train_labels"].max()) + 1,
    }
