"""Arrays of a converted set: memory maps that numpy and torch share without a copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import DataError

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]


def map_array(path: Path) -> Array:
    """The array in a ``.npy`` file, mapped and not read.

    Pages are shared with every other process that maps the file. Writing to the array
    changes this process's copy alone (mode ``c``), which torch needs to take it as it is.

    Raises:
        DataError: The file is missing or damaged.
    """
    try:
        mapped = np.load(path, mmap_mode="c", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(
            f"{path} is missing", f"remove {path.parent}: it is made again when it is next used"
        ) from None
    except (ValueError, EOFError, OSError) as error:
        raise DataError(
            f"{path} is damaged: {error}",
            f"remove {path.parent}: it is made again when it is next used",
        ) from None
    array: Array = mapped.view(np.ndarray)
    return array


def as_tensor(array: Array) -> torch.Tensor:
    """A tensor over the memory of ``array``."""
    import torch

    return torch.from_numpy(array)
