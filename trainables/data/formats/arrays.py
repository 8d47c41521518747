"""Arrays of a converted set: memory maps that numpy and torch share without a copy."""

from __future__ import annotations

import mmap
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import DataError

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]

_UNRESERVED = 0x4000
"""Linux's MAP_NORESERVE, which Python 3.11 has no name for."""


def map_array(path: Path, hint: str = "") -> Array:
    """The array in a ``.npy`` file, mapped and not read.

    Pages are shared with every other process that maps the file. Writing to the array
    changes this process's copy alone, which torch needs to take it as it is. No memory is
    reserved for such copies: numpy's own mode ``c`` reserves the size of the file, so
    that Linux refuses it for a file that is larger than memory.

    Args:
        path: The file.
        hint: Advice if it is damaged. Default: for a file of a converted set.

    Raises:
        DataError: The file is missing or damaged.
    """
    hint = hint or f"remove {path.parent}: it is made again when it is next used"
    try:
        with warnings.catch_warnings(action="ignore"):  # of a shape beyond 64 bits
            checked = np.lib.format.open_memmap(path, mode="r")
        return _private(path, checked)
    except FileNotFoundError:
        raise DataError(f"{path} is missing", hint) from None
    except Exception as error:  # a header is Python's syntax: there is no list of what it raises
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path} is damaged: {why}", hint) from error


def _private(path: Path, checked: np.memmap[Any, Any]) -> Array:
    flags = mmap.MAP_PRIVATE | (_UNRESERVED if sys.platform == "linux" else 0)
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    return np.ndarray(
        checked.shape,
        checked.dtype,
        buffer=memory,
        offset=checked.offset,
        order="C" if checked.flags.c_contiguous else "F",
    )


def as_tensor(array: Array) -> torch.Tensor:
    """A tensor over the memory of ``array``."""
    import torch

    return torch.from_numpy(array)


def release(array: Array) -> None:
    """Take the pages of a mapped array out of this process's memory.

    They stay in the page cache, so reading them again is cheap as long as there is room.
    Changes that this process wrote to them are lost. An array that is not mapped stays as it is.
    """
    if (mapping := _mapping(array)) is not None:
        mapping.madvise(mmap.MADV_DONTNEED)


def expect_random_access(array: Array) -> None:
    """Have the kernel read no more of a mapped array than the pages that are asked for."""
    if (mapping := _mapping(array)) is not None:
        mapping.madvise(mmap.MADV_RANDOM)


def _mapping(array: Array) -> mmap.mmap | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None
