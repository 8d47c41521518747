"""``python -m orchestrator SWEEP.py``, and the program ``orchestrator`` of an installation."""
# PYTHON_ARGCOMPLETE_OK

import os
import signal
import sys
from typing import NoReturn


def _end(number: int, _frame: object) -> NoReturn:
    os.write(2, b"terminated\n")
    os._exit(128 + number)


def run() -> NoReturn:
    """Run the command line of this process, and end it."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)  # before imports, which take seconds
    from orchestrator.cli import main
    from orchestrator.system.streams import outlast_readers

    outlast_readers()
    # A module that the sweep file imports may parse them on import.
    arguments, sys.argv[1:] = sys.argv[1:], []
    code = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is closed. Taking torch, Ray and pandas apart object by object is 2.5 s more.
    os._exit(code)


if __name__ == "__main__":
    run()
