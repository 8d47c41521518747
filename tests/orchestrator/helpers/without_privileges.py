"""Command lines in one process to which the permissions of files apply even if it is root.

It reads a JSON list of command lines on standard input, runs each, and prints a JSON list of their
results.
"""

import ctypes
import json
import os
import sys
from dataclasses import asdict

CANNOT = 77
"""Exit code if this process may not drop its privileges."""

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def _drop_privileges() -> None:
    """Drop the privileges; the program that is executed next has none."""
    libc = ctypes.CDLL(None)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            sys.exit(CANNOT)


if __name__ == "__main__":
    if os.geteuid() == 0 and "--dropped" not in sys.argv:
        _drop_privileges()
        os.execv(sys.executable, [sys.executable, "-m", __spec__.name, "--dropped"])
    from tests.orchestrator.helpers.in_process import run_main

    finished = [asdict(run_main(*arguments, code=None)) for arguments in json.load(sys.stdin)]
    json.dump(finished, sys.stdout)
