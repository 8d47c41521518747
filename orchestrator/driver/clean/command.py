"""``python -m orchestrator clean``: remove what runs have left outside their run directories."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.arguments import Parser
from orchestrator.commands import short
from orchestrator.driver.clean.leftovers import Leftover, leftovers
from orchestrator.errors import refusing_os_errors

EXIT_LEFT = 1
"""Exit code where something could not be removed."""


def main(arguments: Sequence[str]) -> int:
    """Remove what is not in use, and say so line by line.

    Returns:
        0, or 1 where something that is not in use could not be removed.
    """
    options = _parser().parse_args(arguments)
    code, freed = 0, 0
    with refusing_os_errors():
        found = leftovers(Path.cwd())
    for each in found:
        if each.used_by:
            _say("kept", each, f": in use by {each.used_by}")
        elif each.is_cache and options.keep_cache:
            _say("kept", each)
        elif refusal := each.refusal or ("" if options.dry_run else _removed(each)):
            code = EXIT_LEFT
            _say("left", each, f": {refusal}")
        else:
            freed += each.num_bytes
            _say("would remove" if options.dry_run else "removed", each)
    ending = "would be free" if options.dry_run else "are free now"
    sys.stdout.write(f"{_size(freed)} {ending}\n")
    return code


def _removed(leftover: Leftover) -> str:
    """Remove it; return why it could not be removed, or an empty string."""
    try:
        leftover.remove()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _say(verb: str, leftover: Leftover, ending: str = "") -> None:
    size = _size(leftover.num_bytes)
    sys.stdout.write(f"{verb}: {short(leftover.path)} ({leftover.what}, {size}){ending}\n")


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:,.1f} MiB"


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m orchestrator clean",
        description="Removes what runs have left outside their run directories: temporary files of "
        "runs that were killed, core locks, converted data sets, byte code below the current "
        "folder. What a process uses is kept.",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed")
    parser.add_argument(
        "--keep-cache", action="store_true", help="keep the converted data sets, for later runs"
    )
    return parser
