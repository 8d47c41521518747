import subprocess
import sys

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
        assert process.stdout.readline() == "first\n"
        process.stdout.close()
        process.stdin.write("go\n")
        process.stdin.flush()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, "done\n")
