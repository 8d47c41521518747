"""``python -m analysis RUN_DIR``: short for ``orchestrator show``; and other commands on runs."""

import sys

from orchestrator.__main__ import run
from orchestrator.analysis.command_line import COMMANDS

if not COMMANDS.keys() & sys.argv[1:2]:
    sys.argv.insert(1, "show")
run()
