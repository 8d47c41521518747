"""``python -m orchestrator init``: a sweep and a trainable to begin with, which run at once."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from orchestrator.arguments import Parser, a_path
from orchestrator.commands import typed
from orchestrator.errors import SweepError, refusing_os_errors

_TEMPLATES: Final = Path(__file__).parent / "templates"
_SWEEP: Final = "my_sweep.py"
_FILES: Final = ("my_trainable.py", _SWEEP)


def main(arguments: Sequence[str]) -> int:
    """Write the files, and print what to type next.

    Returns:
        0.

    Raises:
        SweepError: One of the files is there already, or cannot be written. Nothing is written
            then.
    """
    folder: Path = _parser().parse_args(arguments).folder
    with refusing_os_errors():
        # A link that leads nowhere is there too.
        if there := [name for name in _FILES if os.path.lexists(folder / name)]:
            raise SweepError(
                f"init: there is a {' and a '.join(there)} in {folder.absolute()}",
                "allowed: another folder: python -m orchestrator init DIR",
            )
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder)
    sys.stdout.write(_what_next(folder))
    return 0


def _write(folder: Path) -> None:
    """Write the files, all or none: half of them would be in the way of the next try."""
    begun: list[Path] = []
    try:
        for name in _FILES:
            text = (_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8")
            with (folder / name).open("x", encoding="utf-8") as file:
                begun.append(folder / name)
                file.write(text)
    except OSError as error:
        if error.filename is None:  # of writing, it does not name the file
            error.filename = str(begun[-1])
        with suppress(OSError):
            for path in begun:
                path.unlink(missing_ok=True)
        raise


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m orchestrator init",
        description="Writes a sweep and a trainable that run at once, without data and network.",
    )
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        default=Path(),
        type=a_path,
        help="where to (default: the current folder)",
    )
    return parser


def _what_next(folder: Path) -> str:
    trainable, sweep = (folder / name for name in _FILES)
    named = f"./{sweep}" if str(sweep).startswith("-") else sweep  # else it is an option
    python = typed("orchestrator", [named])
    return (
        f"{trainable}: a small network and its knobs. Put your own model there.\n"
        f"{sweep}: what is asked about it.\n"
        f"To see what would run:  {python} --plan\n"
        f"To run it, a minute:    {python}\n"
    )
