from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

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


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PROGRAM = """
import sys
from pathlib import Path
from orchestrator.system.streams import begin_in_utf8

with Path("begun").open("a") as file:
    file.write("x")
begin_in_utf8()
print(sys.argv[1:])
Path(sys.argv[1]).write_text(chr(945))
"""


def test_a_program_begins_again_once_with_its_arguments(tmp_path: Path) -> None:
    for environment, begun in ((ASCII, "xx"), ({"LC_ALL": "C.UTF-8"}, "xxx")):
        (tmp_path / "program.py").write_text(PROGRAM)
        done = subprocess.run(
            [sys.executable, "program.py", "\u00e4 $x", "-b"],
            cwd=tmp_path, env=os.environ | environment | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == "['\u00e4 $x', '-b']\n"
        assert (tmp_path / "\u00e4 $x").read_text() == chr(945)
        assert (tmp_path / "begun").read_text() == begun
