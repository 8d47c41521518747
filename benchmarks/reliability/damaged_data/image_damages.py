"""Damages of a set of images in MNIST's format, by their names."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
from typing import Final

import numpy as np

from benchmarks.reliability.damaged_data.set_changes import (
    Change,
    bomb,
    doubled_name,
    idx,
    of_bytes,
    repacked,
)

_IMAGES, _LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz"
_TEN = bytes(n % 10 for n in range(60))
OF_IMAGES: Final[dict[str, Change]] = {
    "a wrong magic number": idx(_LABELS, 2050, (60,), _TEN),
    "labels in place of images": idx(_IMAGES, 2049, (60,), _TEN),
    "ints in place of bytes": idx(_LABELS, 0xC01, (60,), _TEN),
    "four dimensions": idx(_IMAGES, 0x804, (60, 1, 28, 28), bytes(47040)),
    "its numbers the other way round": lambda f: (f / _LABELS).write_bytes(
        gzip.compress(struct.pack("<2I", 2049, 60) + _TEN)
    ),
    "bytes too many": idx(_LABELS, 2049, (60,), _TEN + b"x"),
    "bytes too few": idx(_LABELS, 2049, (60,), _TEN[:-1]),
    "labels fewer than images": idx(_LABELS, 2049, (59,), _TEN[:-1]),
    "no images": lambda f: [
        idx(_IMAGES, 2051, (0, 28, 28), b"")(f),
        idx(_LABELS, 2049, (0,), b"")(f),
    ],
    "four billion images": lambda f: [
        idx(_IMAGES, 2051, (2**32 - 1, 28, 28), b"")(f),
        idx(_LABELS, 2049, (2**32 - 1,), b"")(f),
    ],
    "four billion labels": idx(_LABELS, 2049, (2**32 - 1,), _TEN),
    "images of 32 x 32": idx(_IMAGES, 2051, (60, 32, 32), bytes(60 * 1024)),
    "images of no size": idx(_IMAGES, 2051, (60, 0, 0), b""),
    "images of huge size": idx(_IMAGES, 2051, (60, 2**31, 2**31), b""),
    "a label of 11": idx(_LABELS, 2049, (60,), _TEN[:-1] + b"\x0b"),
    "labels of 255": idx(_LABELS, 2049, (60,), b"\xff" * 60),
    "all labels alike": idx(_LABELS, 2049, (60,), bytes(60)),
    "a test label of 11": idx("t10k-labels-idx1-ubyte.gz", 2049, (20,), b"\x0b" * 20),
    "packed twice": repacked(_LABELS, gzip.compress),
    "not packed": repacked(_LABELS, gzip.decompress),
    "packed under a plain name": repacked(_IMAGES, gzip.compress),
    "something after the end": repacked(_LABELS, lambda c: c + b"more"),
    "packed in parts": repacked(
        _LABELS,
        lambda c: gzip.compress(gzip.decompress(c)[:9]) + gzip.compress(gzip.decompress(c)[9:]),
    ),
    "a bomb": bomb(_LABELS, struct.pack(">2I", 2049, 60) * 2**17, 1200),
    "a bomb of labels": bomb(_LABELS, b"\x00\x00\x08\x01\x00\x00\x00\x3c" + bytes(2**20), 1200),
    "packed and plain that differ": doubled_name,
    "a set in another": lambda f: (
        shutil.copytree(f, f.parent / "x") and shutil.move(f.parent / "x", f / "MNIST")
    ),
    "all in MNIST/raw": lambda f: [
        (f / "MNIST/raw").mkdir(parents=True),
        *((p.rename(f / "MNIST/raw" / p.name)) for p in list(f.iterdir()) if p.is_file()),
    ],
    "two sets": lambda f: [
        shutil.copy(p, p.with_name(f"emnist-letters-{p.name}")) for p in list(f.iterdir())
    ],
    "an odd name": lambda f: (f / "\udcff-train-images-idx3-ubyte").touch(),
    "images as text": of_bytes(_IMAGES, b"0,1,2\n" * 999),
    "an npz": lambda f: np.savez((f / _IMAGES).open("wb"), np.arange(3)),
    "a sparse file of 1 TB": lambda f: os.truncate(f / _IMAGES, 2**40),
    "an empty folder": lambda f: [path.unlink() for path in f.iterdir()],
    "links in a circle": lambda f: [
        (f / _LABELS).unlink(),
        (f / _LABELS).symlink_to("a"),
        (f / "a").symlink_to(_LABELS),
    ],
}  # fmt: skip
