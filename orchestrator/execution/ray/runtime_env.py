"""Ray's runtime environment, which brings the project's code to a cluster's workers."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from orchestrator.sweep.file import PROJECT

SHIPPED = "shipped"
"""Folder of the runtime environment that the sweep file's folder is copied to."""

_INSTALLED = ("site-packages", "dist-packages")


def runtime_environment(sweep_file: Path, stage: Path) -> dict[str, Any]:
    """Return a runtime environment of all code that a sweep may import and no node has installed.

    That is this package, every module and package of the project, of the current folder and of
    the sweep file's folder that the sweep file has imported, and what lies beside the file.
    Ray unpacks it on every node into a folder of its own, which is the workers' working
    directory and on their import path.

    Args:
        sweep_file: The sweep file, which has been run in this process.
        stage: A folder that does not exist yet, where it is put together.
    """
    folder = sweep_file.resolve().parent
    _copy_sources(PROJECT / "orchestrator", stage / "orchestrator")
    for name, places in _imported_from((PROJECT, Path.cwd(), folder)):
        for place in places:
            if place.is_dir():
                _copy_sources(place, stage / name)
            else:
                shutil.copyfile(place, stage / f"{name}.py")
    _copy_sources(folder, stage / SHIPPED, recursive=False)
    return {"working_dir": str(stage)}


def _imported_from(roots: Iterable[Path]) -> Iterator[tuple[str, list[Path]]]:
    """Return top modules directly under ``roots`` that were imported, with folders or files."""
    folders = {root.resolve() for root in roots}
    for name, module in sorted(sys.modules.items()):
        if "." not in name and name != "__main__":
            places = [place for place in _places(module) if place.parent in folders]
            if places:
                yield name, places


def _places(module: ModuleType) -> list[Path]:
    """Return the folders of a package, or the file of a module, unless it was installed."""
    found = list(getattr(module, "__path__", ())) or [getattr(module, "__file__", None)]
    places = [Path(place).resolve() for place in found if place]
    return [
        place
        for place in places
        if (place.is_dir() or place.suffix == ".py")
        and not any(part in _INSTALLED for part in place.parts)
    ]


def _copy_sources(source: Path, target: Path, *, recursive: bool = True) -> None:
    for path in source.rglob("*.py") if recursive else source.glob("*.py"):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
