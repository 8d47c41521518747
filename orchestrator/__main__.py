"""``python -m orchestrator SWEEP.py``."""

import sys

from orchestrator.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
