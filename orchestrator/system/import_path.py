"""The folders that a sweep file imports from, in every process of a sweep.

These are, in this order: Python's own modules, the repository's root, the current folder, what is
installed, and last the root's ``src`` and the sweep file's own folder, where a file hides nothing.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[2]
"""The folder that contains ``orchestrator``: an environment's ``site-packages``, or the
checkout."""

INSTALLED: Final = ("site-packages", "dist-packages")
"""Names of folders that installed packages lie in."""

IMPORT_PATH: Final = "SWEEP_IMPORT_PATH"
"""Variable with the folders that a process imports from first."""

_MARKS: Final = ("pyproject.toml", ".git")


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
    import_from(map(str, folders_before(file)), map(str, (PROJECT, *folders_after(file))))


def import_from(first: Iterable[str], last: Iterable[str] = ()) -> None:
    """Put folders on the import path: before and after all that is there but Python's own.

    A package of the user's is then found before one of the same name that lies next to
    ``orchestrator``; it needs an ``__init__.py``, as Python prefers such packages.
    """
    own = filter(_is_pythons, sys.path)
    sys.path[:] = list(dict.fromkeys([*own, *first, *sys.path, *last]))


def first_here() -> list[str]:
    """Return the folders on this process's import path before installed ones, without Python's."""
    given = [folder or str(Path.cwd()) for folder in sys.path if not _is_pythons(folder)]
    return list(takewhile(lambda folder: not _is_installed(folder), given))


def package_path() -> list[str]:
    """Return the folder that a new process finds ``orchestrator`` in, if it would not find it."""
    return [] if _is_installed(str(PROJECT)) else [str(PROJECT)]


def environment_with(*folders: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a process that imports from ``folders`` first, and this package."""
    paths = [*folders, *environment.get("PYTHONPATH", "").split(os.pathsep), *package_path()]
    return {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys(filter(None, paths)))}


def _is_pythons(folder: str) -> bool:
    archive = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    path = Path(folder)
    return path == Path(os.__file__).parent or path.name in (archive, "lib-dynload")


def _is_installed(folder: str) -> bool:
    return bool(set(INSTALLED).intersection(Path(folder).parts))
