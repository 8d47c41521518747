"""``python -m orchestrator init``: a sweep and a trainable to begin with, which run at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.arguments import Parser, a_path, typed
from orchestrator.errors import SweepError, refusing_os_errors

_FILES: Final = ("my_trainable.py", "my_sweep.py")


def main(arguments: Sequence[str]) -> int:
    """Write the files, and print what to type next.

    Returns:
        0.

    Raises:
        SweepError: One of the files is there already, or cannot be written.
    """
    parser = Parser(
        prog="python -m orchestrator init",
        description="Writes a sweep and a trainable that run at once, without data and network.",
    )
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=Path(), type=a_path,
        help="where to (default: the current folder)",
    )  # fmt: skip
    folder: Path = parser.parse_args(arguments).folder
    with refusing_os_errors():
        # A link that leads nowhere is there too.
        if there := [name for name in _FILES if os.path.lexists(folder / name)]:
            raise SweepError(
                f"init: there is a {' and a '.join(there)} in {folder.absolute()}",
                "allowed: another folder: python -m orchestrator init DIR",
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    trainable, sweep = (folder / name for name in _FILES)
    named = f"./{sweep}" if str(sweep).startswith("-") else sweep  # else it is an option
    python = typed("orchestrator", [named])
    sys.stdout.write(
        f"{trainable}: a small network and its knobs. Put your own model there.\n"
        f"{sweep}: what is asked about it.\n"
        f"To see what would run:  {python} --plan\n"
        f"To run it, a minute:    {python}\n"
    )
    return 0
