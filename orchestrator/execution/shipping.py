"""How the project's code reaches a cluster's workers: through Ray's runtime environment."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from orchestrator.trainable import Trainable

SHIPPED = "shipped"
"""Folder of the runtime environment that the sweep file's folder is copied to."""


def runtime_environment(sweep_file: Path, trainable: Trainable[Any], stage: Path) -> dict[str, Any]:
    """A runtime environment of this package, the trainable's and the sweep file's folder.

    Ray unpacks it on every node into a folder of its own, which is the workers' working
    directory and on their import path.

    Args:
        sweep_file: The sweep file.
        trainable: What it sweeps.
        stage: A folder that does not exist yet, where it is put together.
    """
    package = trainable.train.__module__.partition(".")[0]
    for name in {"orchestrator", package} & set(sys.modules):
        root = getattr(sys.modules[name], "__path__", None)
        if root is not None:
            _copy_sources(Path(next(iter(root))), stage / name)
    _copy_sources(sweep_file.resolve().parent, stage / SHIPPED, recursive=False)
    return {"working_dir": str(stage)}


def _copy_sources(source: Path, target: Path, *, recursive: bool = True) -> None:
    for path in source.rglob("*.py") if recursive else source.glob("*.py"):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
