"""``python -m orchestrator init``: a sweep with a trainable to begin with, or one of a script."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.arguments import Parser, a_path, command, typed
from orchestrator.errors import SweepError
from orchestrator.templates.of_script import sweep_of

_FILES: Final = ("my_trainable.py", "my_sweep.py")


def main(arguments: Sequence[str]) -> int:
    """Write the files, and print what to type next.

    Returns:
        0.

    Raises:
        SweepError: One of the files is there already, or cannot be written.
    """
    parser = Parser(
        prog=command("init"),
        description="Writes a sweep and a trainable that run at once, without data and network.",
    )
    here = "where to (default: the current folder)"
    parser.takes("folder", "DIR", a_path, here, Path(), nargs="?")
    of_script = "write a sweep of this script, from the options that its argparse parser has"
    parser.takes("--from", "SCRIPT.py", a_path, of_script, dest="script")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    texts = _texts(options.script)
    # A link that leads nowhere is there too.
    if there := [name for name in texts if os.path.lexists(folder / name)]:
        raise SweepError(
            f"init: there is a {' and a '.join(there)} in {folder.absolute()}",
            f"allowed: another folder: {command('init DIR')}",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
    *trainables, sweep = (folder / name for name in texts)
    named = f"./{sweep}" if str(sweep).startswith("-") else sweep  # else it is an option
    python = typed("orchestrator", [named])
    check = " Check what the script reports, and what varies." if options.script else ""
    for each in trainables:
        sys.stdout.write(f"{each}: a small network and its knobs. Put your own model there.\n")
    sys.stdout.write(
        f"{sweep}: what is asked about it.{check}\n"
        f"To see what would run:  {python} --plan\n"
        f"To run it:              {python}\n"
    )
    return 0


def _texts(script: Path | None) -> dict[str, str]:
    """Return the files to write by name: the sweep of a script, or the trainable and its sweep."""
    if script is not None:
        return {f"{script.stem}_sweep.py": sweep_of(script)}
    here = Path(__file__).parent
    return {name: (here / f"{name}.txt").read_text(encoding="utf-8") for name in _FILES}
