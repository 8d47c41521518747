"""Python processes with children, as a test writes them."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def family(command: str) -> Iterator[subprocess.Popen[str]]:
    """Start a Python process that prints a word once it is ready, and ends when it reads one."""
    process = subprocess.Popen(
        [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.communicate("end\n", timeout=10)


BURN = "import time\nbegan = time.process_time()\nwhile time.process_time() - began < {}: pass\n"
CHILD = "import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {!r}])\n"
READY = "print('ready', flush=True)\ninput()\n"
