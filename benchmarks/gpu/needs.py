"""Packages that must be there before anything runs, and those that are missing."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("torch", "numpy", "pandas", "msgspec", "dgl")
OF_DGL = ("scipy", "networkx", "psutil", "requests", "tqdm")
FOR_TESTS = {"pytest": "pytest (with pluggy, iniconfig, packaging)", "sklearn": "scikit-learn"}

NOT_INSTALLED = "which is not installed here"
"""The end of a setting's reason where a package is missing."""

BROUGHT = "--wheels DIR brings packages along"


def missing(*, device: str) -> str | None:
    """One line that names what is missing for anything to run, or None."""
    if absent := [name for name in (*PACKAGES, *OF_DGL) if find_spec(name) is None]:
        return f"missing here: {', '.join(absent)}; {BROUGHT}"
    if device == "cpu":
        return None
    import torch

    if torch.cuda.is_available():
        return None
    return f"no GPU here: torch {torch.__version__} sees no CUDA device; nothing was run"


def missing_for_tests() -> str | None:
    """One line with the reason why the tests are left out, or None."""
    if absent := [said for name, said in FOR_TESTS.items() if find_spec(name) is None]:
        return f"the tests are left out, missing here: {', '.join(absent)}; {BROUGHT}"
    return None


def unpack_wheels(wheels: Path, folder: Path) -> Sequence[str]:
    """Unpack wheels into a folder to be put on the path; pip need not be there.

    Returns:
        The wheels' names.

    Raises:
        FileNotFoundError: There are none.
    """
    found = sorted(wheels.glob("*.whl"))
    if not found:
        raise FileNotFoundError(f"no wheels in {wheels}")
    for wheel in found:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    # A package that is not pure Python may be one level lower, as wheels have it.
    for inner in folder.glob("*.data/*lib/*"):
        inner.rename(folder / inner.name)
    return [wheel.name for wheel in found]
