"""Files of images in MNIST's layout: four of them, of one set or of several in a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from orchestrator.errors import DataError, nearest
from trainables.data.formats.arrays import Array
from trainables.data.formats.idx import idx_beginning, idx_shape, read_idx
from trainables.data.formats.image_data import SIDE

_NAME = re.compile(
    r"(?:(?P<set>.+)-)?(?P<split>train|test|t10k)-(?P<what>images|labels)[-.]idx[13]-ubyte(?:\.gz)?"
)
_ARRAYS: Final = ("train_images", "train_labels", "test_images", "test_labels")
_FINGERPRINT_IMAGES: Final = 100


@dataclass(frozen=True, kw_only=True)
class ImageFiles:
    """The four files of a set, with headers that fit each other.

    Attributes:
        folder: Their folder.
        prefix: Text before ``-train-images`` in their names, like ``emnist-letters``; or empty.
        paths: By ``train_images``, ``train_labels``, ``test_images``, ``test_labels``.
        num_train: Images to train on.
        num_test: Images to report on.
    """

    folder: Path
    prefix: str
    paths: Mapping[str, Path]
    num_train: int
    num_test: int

    def fingerprint(self) -> str:
        """Return a hash of all labels and of the first images: cheap, and no two sets share it."""
        digest = hashlib.blake2b(digest_size=16)
        for name, path in self.paths.items():
            images = name.endswith("images")
            num_bytes = _FINGERPRINT_IMAGES * SIDE * SIDE if images else -1
            digest.update(idx_beginning(path, 3 if images else 1, num_bytes))
        return digest.hexdigest()


def find_images(folder: Path, part: str = "") -> ImageFiles:
    """Find the files of a set and read their headers.

    Args:
        folder: Their folder.
        part: The set to take if there are several: ``letters`` for the files with names that
            begin with ``emnist-letters-``.

    Raises:
        DataError: A file is missing or damaged, they do not fit each other, the images are not
            of 28 x 28 pixels, or ``part`` does not name one of several sets.
    """
    sets = _sets_in(folder)
    prefix = _chosen(folder, sets, part)
    paths = {name: _existing(folder, prefix, sets[prefix], name) for name in _ARRAYS}
    counts = [_checked_count(paths, split) for split in ("train", "test")]
    return ImageFiles(
        folder=folder, prefix=prefix, paths=paths, num_train=counts[0], num_test=counts[1]
    )


def read_images(files: ImageFiles) -> dict[str, Array]:
    """Read the arrays; classes are numbered 0, 1, ... in the order of their labels.

    Raises:
        DataError: A file is damaged, or a test image is of a class that no training image has.
    """
    arrays = {
        name: read_idx(path, 3 if name.endswith("images") else 1)
        for name, path in files.paths.items()
    }
    classes = np.unique(arrays["train_labels"])
    unknown = ~np.isin(arrays["test_labels"], classes)
    if unknown.any():
        place = int(np.argmax(unknown))
        raise DataError(
            f"{files.paths['test_labels']}: item {place + 1} is {arrays['test_labels'][place]}",
            f"no training image has this label; they have {classes.min()} to {classes.max()}",
        )
    for name in ("train_labels", "test_labels"):
        arrays[name] = np.searchsorted(classes, arrays[name])
    return arrays


def _sets_in(folder: Path) -> dict[str, dict[str, Path]]:
    """Return the files in a folder by their prefix and their array."""
    sets: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):  # a file that is unpacked comes before its packed form
        if found := _NAME.fullmatch(path.name):
            split = "train" if found["split"] == "train" else "test"
            sets.setdefault(found["set"] or "", {}).setdefault(f"{split}_{found['what']}", path)
    if not sets:
        raise DataError(f"{folder} holds no train-images-idx3-ubyte, packed or not")
    return sets


def _chosen(folder: Path, sets: Mapping[str, Mapping[str, Path]], part: str) -> str:
    if part:
        named = [prefix for prefix in sets if f"-{prefix}".endswith(f"-{part}")]
        if len(named) == 1:
            return named[0]
        parts = [prefix.rpartition("-")[2] for prefix in sets]
        raise DataError(
            f"{folder} has no images {part!r}{nearest(part, parts)}",
            f"found there: {', '.join(filter(None, sets)) or 'one set, without a name'}",
        )
    if len(sets) == 1 or "" in sets:
        return "" if "" in sets else next(iter(sets))
    example = next(iter(sets)).rpartition("-")[2]
    raise DataError(
        f"{folder} has several sets of images: {', '.join(sets)}",
        f"name one: --data {folder}@{example}",
    )


def _existing(folder: Path, prefix: str, found: Mapping[str, Path], name: str) -> Path:
    if name in found:
        return found[name]
    split, what = name.split("_")
    if split == "test" and not prefix:
        split = "t10k"
    dimensions = 3 if what == "images" else 1
    lacking = "-".join(filter(None, (prefix, split, what, f"idx{dimensions}", "ubyte.gz")))
    beside = next(iter(found.values()))
    raise DataError(f"{folder / lacking} is missing", f"expected it beside {beside}, packed or not")


def _checked_count(paths: Mapping[str, Path], split: str) -> int:
    images, labels = paths[f"{split}_images"], paths[f"{split}_labels"]
    count, height, width = idx_shape(images, 3)
    if (height, width) != (SIDE, SIDE):
        raise DataError(
            f"{images}: images of {height} x {width} pixels",
            f"the networks here take {SIDE} x {SIDE}",
        )
    (num_labels,) = idx_shape(labels, 1)
    if num_labels != count or not count:
        raise DataError(f"{labels}: {num_labels} labels", f"{images} has {count} images")
    return int(count)
