"""``python -m orchestrator SWEEP.py``."""

import os
import sys

from orchestrator.cli import main
from orchestrator.system.streams import outlast_readers

if __name__ == "__main__":
    outlast_readers()
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is closed. Taking torch, Ray and pandas apart object by object is 2.5 s more.
    os._exit(code)
