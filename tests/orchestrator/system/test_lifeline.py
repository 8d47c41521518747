import subprocess
import sys

import psutil

FORKS = """
import os, time
from orchestrator.system.lifeline import die_with_parent
parent = os.getpid()
if os.fork() == 0:
    die_with_parent(parent)
    print(os.getpid(), flush=True)
time.sleep(600)
"""


def test_a_child_dies_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", FORKS], stdout=subprocess.PIPE) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert psutil.wait_procs([child], timeout=10)[1] == []
