"""Command lines for the user to type, as they work from the current folder."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path


def typed(module: str, arguments: Sequence[str | Path], *, program: str = "") -> str:
    """Return a command line for this environment: quoted, and found whatever the search path is.

    Args:
        module: What ``python -m`` runs, where there is no program.
        arguments: What follows; paths are shown relative to the current folder where they
            lie under it.
        program: A program that the environment has for the module, preferred where it does.
    """
    words = [str(short(word)) if isinstance(word, Path) else word for word in arguments]
    python = Path(sys.executable).absolute()
    if program and python.with_name(program).exists():
        return shlex.join([_found(python.with_name(program)), *words])
    return shlex.join([_found(python), "-m", module, *words])


def short(path: Path) -> Path:
    """Return ``path``, relative to the current folder where it lies under it."""
    path = path.absolute()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _found(program: Path) -> str:
    """Return a program's name where typing that runs it, else its path."""
    on_path = shutil.which(program.name)
    same = on_path is not None and Path(on_path).absolute() == program
    return program.name if same else str(short(program))
