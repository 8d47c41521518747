"""Files that ``torch.save`` wrote, read for arrays and numbers only."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array

if TYPE_CHECKING:
    import torch

_NUMPY_1_AND_2 = ("numpy.core.multiarray", "numpy._core.multiarray")


@contextmanager
def plain_globals() -> Iterator[None]:
    """A block in which ``torch.load`` takes numpy's arrays and numbers too, and no more."""
    import torch

    with torch.serialization.safe_globals(_allowed()):
        yield


def load_mapping(path: Path) -> dict[str, Any]:
    """The dictionary in ``path``.

    Raises:
        DataError: The file is missing or damaged, contains something else, or a pickle that
            would create anything but arrays and numbers; nothing of it is run.
    """
    import torch

    try:
        with plain_globals(), warnings.catch_warnings(action="ignore"):
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise DataError(f"{path} is missing") from None
    except pickle.UnpicklingError as error:
        raise _refused(path, error) from None
    except Exception as error:  # instructions of a damaged pickle raise whatever they hit
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        reason = reason or type(error).__name__
        raise DataError(f"{path} is damaged: {reason}", "get it again") from error
    if not isinstance(loaded, dict):
        raise DataError(f"{path} holds a {type(loaded).__name__}", "expected a dictionary")
    return {str(name): _as_array(value) for name, value in loaded.items()}


def whole_number(path: Path, fields: Mapping[str, Any], name: str) -> int:
    """A count in what :func:`load_mapping` returned.

    Raises:
        DataError: There is none, or it is no whole number above 0.
    """
    value = fields.get(name)
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise DataError(
            f"{path}: {name!r} is {value!r}", f"{name!r} must be a whole number, 1 or more"
        )
    return int(value)


def number_array(path: Path, fields: Mapping[str, Any], name: str) -> Array:
    """An array of whole numbers, ``(n,)``, in the content of such a file.

    Raises:
        DataError: There is none, or it is something else.
    """
    value = _as_array(fields.get(name))
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "iu":
        raise DataError(
            f"{path}: {name!r} is no array of whole numbers", f"it holds: {', '.join(fields)}"
        )
    return value.astype(np.int64)


def _allowed() -> list[Any]:
    """Return True for what makes numpy's arrays and numbers, by its old names and its new ones."""
    makers: list[Any] = [np.zeros(1).__reduce__()[0], np.int64(1).__reduce__()[0]]
    named = [(make, f"{module}.{make.__name__}") for make in makers for module in _NUMPY_1_AND_2]
    kinds = [type(np.dtype(code)) for code in np.typecodes["AllInteger"] + "efd?"]
    empty = [(bytes, "__builtin__.bytes"), (bytes, "builtins.bytes")]  # content of an empty array
    return [*named, *empty, np.ndarray, np.dtype, *kinds]


def _refused(path: Path, error: pickle.UnpicklingError) -> DataError:
    named = re.search(r"GLOBAL ([\w.]+)|but got <class '([\w.]+)'>", str(error))
    if named is None:
        return DataError(f"{path} is damaged: torch.save did not write it", "get it again")
    return DataError(
        f"{path} holds {named[1] or named[2]}: refused, nothing of it was run",
        "allowed: dictionaries, lists, arrays, tensors, numbers and text",
    )


def _as_array(value: torch.Tensor | Any) -> Any:  # noqa: ANN401 - whatever was saved
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    try:
        return value.detach().numpy()
    except (TypeError, RuntimeError):  # sparse, or of a type that numpy lacks: not what was saved
        return value
