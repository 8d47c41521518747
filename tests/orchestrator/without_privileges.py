"""``python -m orchestrator``, to which the permissions of files apply even where it is root."""

import ctypes
import os
import sys

CANNOT = 77
"""Exit code where this process may not give its privileges up."""

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2

if __name__ == "__main__":
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                sys.exit(CANNOT)
    os.execv(sys.executable, [sys.executable, "-m", "orchestrator", *sys.argv[1:]])
