from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

WRITES = """
import sys
from orchestrator.system.streams import outlast_readers
outlast_readers()
print('first', flush=True)
sys.stdin.readline()
for _ in range(10_000):
    print('a line that is not read', flush=True)
print('done', file=sys.stderr)
"""


def test_a_reader_that_goes_away_ends_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "first\n"
        process.stdout.close()
        process.stdin.write("go\n")
        process.stdin.flush()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, "done\n")


IN_A_SHELL = """
import os, sys
from orchestrator.system.streams import outlast_readers
outlast_readers()
assert os.open(os.devnull, os.O_RDONLY) > 2, 'a file would get what is printed'
print('\u03b1', flush=True)
print('\u03b1', file=sys.stderr, flush=True)
sys.stdin.isatty()
"""


@pytest.mark.parametrize(
    "redirection",
    [">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "1</dev/null", "| true"],
)
def test_what_can_be_printed_nowhere_is_left_out(redirection: str) -> None:
    words = [sys.executable, "-c", IN_A_SHELL]
    done = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {shlex.join(words)} {redirection}"],
        capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr.replace("\\u03b1\n", "")


REQUIRES = """
import sys
from orchestrator.system.streams import outlast_readers, require_written
outlast_readers()
print('lost, perhaps')
try:
    require_written(sys.stdout)
except OSError as error:
    print(error.strerror, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        (">/dev/null", ""),
        ("| true", ""),
        (">/dev/full", "No space left on device\n"),
        ("1</dev/null", "Bad file descriptor\n"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_who_needs_the_output_is_told_what_was_left_out(
    redirection: str, said: str, unbuffered: str
) -> None:
    words = [sys.executable, "-c", REQUIRES]
    done = subprocess.run(
        ["/bin/bash", "-c", f"{shlex.join(words)} {redirection}"],
        capture_output=True, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, said)
