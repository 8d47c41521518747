"""``python -m orchestrator.analysis``: query a finished run, or compare two."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.analysis.commands.parser import parse
from orchestrator.arguments import EXIT_WRONG_REQUEST, typed
from orchestrator.errors import SweepError, refusing_os_errors
from orchestrator.storage.files import latest_run
from orchestrator.texts import bounded_lines

EXIT_INTERRUPTED: Final = 130
_ANY_RUN: Final = "runs/SWEEP/TIME"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Returns:
        0; 1 if ``compare`` has found a regression; 2 if the request was wrong, or a document
        cannot be written; 130 if it was interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        return _without_words()
    options = parse(words)
    try:
        with refusing_os_errors():
            from orchestrator.analysis.commands.actions import ACTIONS  # pandas takes a second

            return ACTIONS[options.command](options)
    except SweepError as error:
        print(f"error: {bounded_lines(str(error))}", file=sys.stderr)
        return EXIT_WRONG_REQUEST
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _without_words() -> int:
    """Print what to type, with the latest run below runs/ if there is one."""
    latest = latest_run(Path("runs"))
    hint = "the latest run: " if latest else ""
    command = typed("orchestrator.analysis", [latest or _ANY_RUN])
    print(
        f"error: give the folder of a run\n  {hint}{command}\n"
        "  see python -m orchestrator.analysis --help",
        file=sys.stderr,
    )
    return EXIT_WRONG_REQUEST


if __name__ == "__main__":
    from orchestrator.system.streams import outlast_readers

    outlast_readers()
    code = main()
    sys.stdout.flush()
    sys.exit(code)
