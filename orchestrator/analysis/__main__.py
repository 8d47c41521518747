"""``python -m orchestrator.analysis``: query a finished run, or compare two."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from orchestrator.analysis.commands.parser import parse
from orchestrator.arguments import EXIT_WRONG_REQUEST
from orchestrator.errors import SweepError, refusing_os_errors
from orchestrator.texts import bounded_lines

EXIT_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Returns:
        0; 1 if ``compare`` has found a regression; 2 if the request was wrong, or a document
        cannot be written; 130 if it was interrupted.
    """
    options = parse(list(sys.argv[1:] if arguments is None else arguments))
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


if __name__ == "__main__":
    from orchestrator.system.streams import outlast_readers

    outlast_readers()
    code = main()
    sys.stdout.flush()
    sys.exit(code)
