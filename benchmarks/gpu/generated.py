"""Images that no package has to bring: ten noisy patterns, in MNIST's sizes and layout.

Their speeds are MNIST's, since nothing in a step depends on what an image shows; their losses are
not.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import numpy as np

NAME = "generated images in MNIST's layout"
_NUM_IMAGES = {"train": 60_000, "t10k": 10_000}
_NUM_CLASSES = 10
_SIDE = 28
_INK = 0.2  # share of pixels that are not black: on more a network of raw pixels diverges
_NOISE = 40  # of 256 grey levels


def generated_images(cache: Path) -> Path:
    """A data root with them, made once a machine.

    Args:
        cache: Folder of generated sets.
    """
    root = cache / "generated-images"
    if not root.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = Path(scratch) / "root"
            _write(made / "mnist/MNIST/raw")
            made.rename(root)
    return root


def _write(folder: Path) -> None:
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    shape = (_NUM_CLASSES, _SIDE, _SIDE)
    patterns = random.integers(0, 256, shape) * (random.random(shape) < _INK)
    for split, count in _NUM_IMAGES.items():
        labels = random.integers(0, _NUM_CLASSES, count)
        noise = random.normal(0, _NOISE, (count, _SIDE, _SIDE)).astype(np.float32)
        images = (patterns[labels] + noise).clip(0, 255)
        for kind, values in (("images-idx3", images), ("labels-idx1", labels)):
            magic = 0x800 + values.ndim
            header = struct.pack(f">{1 + values.ndim}I", magic, *values.shape)
            path = folder / f"{split}-{kind}-ubyte"
            path.write_bytes(header + values.astype(np.uint8).tobytes())
