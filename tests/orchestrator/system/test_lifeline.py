from __future__ import annotations

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
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert psutil.wait_procs([child], timeout=10)[1] == []


def test_orphans_are_adopted() -> None:
    command = """
import os
from orchestrator.system.lifeline import adopt_orphans
adopt_orphans()
if os.fork() == 0:
    if os.fork() == 0:
        while os.getppid() != {own}:
            pass
        print(os.getppid() == {own}, flush=True)
    os._exit(0)
os.wait()
os.wait()
"""
    with_own_pid = command.replace("adopt_orphans()\nif", "adopt_orphans()\nown = os.getpid()\nif")
    done = subprocess.run(
        [sys.executable, "-c", with_own_pid.format(own="own")],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "True\n"
