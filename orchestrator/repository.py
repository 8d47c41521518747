"""The user's repository: its root, and the folders that a sweep file imports from.

These are, in this order: the repository's root, the current folder, what Python and its
environment have, and last the root's ``src`` and the sweep file's own folder, where a file hides
nothing. Every process of a sweep has them in the same order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[1]
"""The folder that holds ``orchestrator``: an environment's ``site-packages``, or the checkout."""

INSTALLED: Final = ("site-packages", "dist-packages")
"""Names of folders that installed packages lie in."""

IMPORTED_LAST: Final = "SWEEP_IMPORTED_LAST"
"""Variable with folders that a process imports from after what is installed."""

_MARKS: Final = ("pyproject.toml", ".git")
_BESIDE: Final = ("trainables", "sweeps", "analysis", "benchmarks", "tests")
"""Folders beside ``orchestrator``, in an environment or in the checkout."""


def root_of(file: Path) -> Path | None:
    """Return the nearest folder above ``file`` with a pyproject.toml or a .git, or None."""
    folders = file.resolve().parents
    return next((f for f in folders if any((f / mark).exists() for mark in _MARKS)), None)


def folders_before(file: Path) -> list[Path]:
    """Return the folders that ``file`` imports from before what is installed."""
    root = root_of(file)
    return list(dict.fromkeys([*([] if root is None else [root]), Path.cwd()]))


def folders_after(file: Path) -> list[Path]:
    """Return the folders that ``file`` imports from where no other has the module."""
    root = root_of(file)
    source = [] if root is None else [root / "src"]
    return [*filter(Path.is_dir, source), file.resolve().parent]


def make_importable(file: Path) -> None:
    """Put the folders that ``file`` imports from on the import path."""
    honour_the_order()
    for folder in map(str, reversed(folders_before(file))):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)
    for folder in map(str, (PROJECT, *folders_after(file))):
        if folder not in sys.path:
            sys.path.append(folder)


def first_here() -> list[str]:
    """Return the folders on this process's import path before Python's own, to hand them on."""
    python = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    given = [folder or str(Path.cwd()) for folder in sys.path]
    return list(takewhile(lambda folder: Path(folder).name != python, given))


def last_here() -> list[str]:
    """Return the folders on this process's import path after what is installed."""
    python = {*INSTALLED, "lib-dynload"}
    last = takewhile(lambda folder: not python.intersection(Path(folder).parts), reversed(sys.path))
    return list(last)[::-1]


def package_path() -> list[str]:
    """Return the folder that a new process finds ``orchestrator`` in, if it would not find it.

    An environment's own folder is left out. In front of Python's it would hide some of that.
    """
    return [] if set(INSTALLED).intersection(PROJECT.parts) else [str(PROJECT)]


def honour_the_order() -> None:
    """Have a folder of the user's be found before one of the same name that lies beside us.

    Python prefers a package with an ``__init__.py`` to a folder without one, wherever they are
    on the import path: ``trainables/`` in the user's repository would not be seen.
    """
    if not any(isinstance(finder, _InOrder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _InOrder())


class _InOrder(MetaPathFinder):
    """Finds folders without an ``__init__.py`` that come before ours on the import path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the user's folder called ``fullname``; None for what Python finds by itself."""
        if fullname not in _BESIDE:
            return None
        for entry in map(Path, sys.path):
            folder = entry / fullname
            if entry.resolve() == PROJECT or (folder / "__init__.py").is_file():
                return None
            if folder.is_dir() and any(folder.rglob("*.py")):
                spec = ModuleSpec(fullname, None, is_package=True)
                spec.submodule_search_locations = [str(folder)]
                return spec
        return None
