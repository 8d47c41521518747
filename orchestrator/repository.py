"""The user's repository: its root, and the folders that a sweep file imports from.

These are, in this order: Python's own modules, the repository's root, the current folder, what is
installed, and last the root's ``src`` and the sweep file's own folder, where a file hides nothing.
Every process of a sweep has them in the same order.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Final

from orchestrator.early_ends import is_pythons, python_first

PROJECT: Final = Path(__file__).resolve().parents[1]
"""The folder that holds ``orchestrator``: an environment's ``site-packages``, or the checkout."""

INSTALLED: Final = ("site-packages", "dist-packages")
"""Names of folders that installed packages lie in."""

IMPORT_PATH: Final = "SWEEP_IMPORT_PATH"
"""Variable with the folders that a process imports from before and after what is installed."""

_MARKS: Final = ("pyproject.toml", ".git")
_BESIDE: Final = ("trainables", "sweeps", "analysis", "benchmarks", "tests")
"""Folders beside ``orchestrator``, in an environment or in the checkout."""


def root_of(file: Path) -> Path | None:
    """Return the nearest folder above ``file`` with a pyproject.toml or a .git, or None."""
    folders = file.resolve().parents
    return next((f for f in folders if any((f / mark).exists() for mark in _MARKS)), None)


def folders_before(file: Path) -> list[Path]:
    """Return the folders that ``file`` imports from before what is installed, Python's apart."""
    root = root_of(file)
    return list(dict.fromkeys([*([] if root is None else [root]), Path.cwd()]))


def folders_after(file: Path) -> list[Path]:
    """Return the folders that ``file`` imports from where no other has the module."""
    root = root_of(file)
    source = [] if root is None else [root / "src"]
    return [*filter(Path.is_dir, source), file.resolve().parent]


def make_importable(file: Path) -> None:
    """Put the folders that ``file`` imports from on the import path."""
    import_from(map(str, folders_before(file)), map(str, (PROJECT, *folders_after(file))))


def import_from(first: Iterable[str], last: Iterable[str]) -> None:
    """Put folders on the import path: before and after all that is there, but Python's own."""
    honour_the_order()
    sys.path[:] = python_first(list(dict.fromkeys([*first, *sys.path, *last])))


def first_here() -> list[str]:
    """Return the folders on this process's import path before what is installed, to hand them on.

    Python's own are left out.
    """
    given = [folder or str(Path.cwd()) for folder in sys.path if not is_pythons(folder)]
    return list(takewhile(lambda folder: not _is_installed(folder), given))


def last_here() -> list[str]:
    """Return the folders on this process's import path after what is installed."""
    given = [folder for folder in reversed(sys.path) if not is_pythons(folder)]
    return list(takewhile(lambda folder: not _is_installed(folder), given))[::-1]


def harmless(folders: Iterable[str]) -> list[str]:
    """Return those folders in which no file has the name of a module of Python's own.

    Any Python that is started may have them in ``PYTHONPATH``, where they come before those.
    """
    return [folder for folder in folders if not (os.pathsep in folder or _hides_python(folder))]


def _hides_python(folder: str) -> bool:
    """Return True where a file has a name of Python's own, or a folder with ``__init__.py``."""
    with suppress(OSError):
        own = [file for file in Path(folder).iterdir() if file.stem in sys.stdlib_module_names]
        return any(file.suffix == ".py" or (file / "__init__.py").is_file() for file in own)
    return False


def _is_installed(folder: str) -> bool:
    return bool(set(INSTALLED).intersection(Path(folder).parts))


def package_path() -> list[str]:
    """Return the folder that a new process finds ``orchestrator`` in, if it would not find it.

    An environment's own folder is left out. In front of Python's it would hide some of that.
    """
    return [] if _is_installed(str(PROJECT)) else [str(PROJECT)]


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
