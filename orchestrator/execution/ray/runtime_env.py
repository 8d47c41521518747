"""Code and authentication token for an existing cluster."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from orchestrator.system.import_path import INSTALLED, PROJECT

SHIPPED = "shipped"
"""Folder of the runtime environment that the sweep file's folder is copied to."""

_SUFFIXES = frozenset(
    (".py", ".so", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".txt", ".csv", ".jinja")
)
"""Code, and files that code reads from its folder; data sets are not shipped."""

_LARGEST_BYTES = 2**20
"""A larger file is data, whatever its name; code has no limit."""

_OF_PYTHON = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))


def runtime_environment(sweep_file: Path, stage: Path) -> dict[str, Any]:
    """Return a runtime environment of all code that a sweep may import and no node has installed.

    That is this package, every imported module and package that is not installed, wherever it
    lies, and the files next to the sweep file. It includes the small files of settings that code
    reads from its folder.
    Ray unpacks it on every node into a separate folder, which is the workers' working
    directory and on their import path.

    Args:
        sweep_file: The sweep file, which has been run in this process.
        stage: A folder that does not exist yet, where it is put together.
    """
    _copy_sources(PROJECT / "orchestrator", stage / "orchestrator")
    for name, module in sorted(sys.modules.items()):
        for place in _places(module) if "." not in name and name != "__main__" else ():
            if place.is_dir():
                _copy_sources(place, stage / name)
            else:
                shutil.copyfile(place, stage / f"{name}.py")
    _copy_sources(sweep_file.resolve().parent, stage / SHIPPED, pattern="*")
    return {"working_dir": str(stage)}


def _places(module: ModuleType) -> list[Path]:
    """Return the folders of a package, or the file of a module, unless it was installed.

    A package installed for editing has its places in a project, and counts as not installed.
    Our own trainables go with this package: a node may have another version of them.
    """
    found = list(getattr(module, "__path__", ())) or [getattr(module, "__file__", None)]
    places = [Path(place).resolve() for place in found if place]
    return [
        place
        for place in places
        if (place.is_dir() or place.suffix == ".py")
        and (place == PROJECT / "trainables" or not set(INSTALLED).intersection(place.parts))
        and not any(place.is_relative_to(folder) for folder in _OF_PYTHON)
    ]


def _copy_sources(source: Path, target: Path, *, pattern: str = "**/*") -> None:
    for path in source.glob(pattern):
        within = path.relative_to(source)
        if path.suffix not in _SUFFIXES or any(part.startswith(".") for part in within.parts):
            continue
        if path.is_file() and (path.suffix == ".py" or path.stat().st_size <= _LARGEST_BYTES):
            (target / within).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / within)


def use_token_if_there_is_one() -> None:
    """Have Ray authenticate by the user's token, if there is one, unless the user sets a mode.

    Call it before ``ray`` is imported. Ray 2.60 starts a cluster with the token that it finds, but
    a driver that connects reads its setting at import, and is refused unless the environment
    names the mode.
    """
    path = os.environ.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token")  # noqa: PTH111 - there may be no home
    if "RAY_AUTH_TOKEN" in os.environ or os.path.isfile(path):  # noqa: PTH113 - nor a right to look
        os.environ.setdefault("RAY_AUTH_MODE", "token")
