from __future__ import annotations

import subprocess
import sys

import psutil

FORKS = """
import os, time
from orchestrator.system.lifeline import {imported}
{before}
pid = os.fork()
if pid == 0:
    {in_child}
    print(os.getpid(), flush=True)
    time.sleep(600)
time.sleep(600)
"""


def child_of(imported: str, *, before: str = "", in_child: str = "pass") -> psutil.Process:
    """Start a process with a child, kill it once the child is ready, and return the child."""
    command = FORKS.format(imported=imported, before=before, in_child=in_child)
    with subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    return child


def test_a_child_dies_with_its_parent() -> None:
    child = child_of(
        "die_with_parent", before="parent = os.getpid()", in_child="die_with_parent(parent)"
    )
    assert psutil.wait_procs([child], timeout=10)[1] == []


def test_a_child_whose_parent_has_died_already_ends_at_once() -> None:
    command = "from orchestrator.system.lifeline import die_with_parent; die_with_parent(1 << 22)"
    done = subprocess.run([sys.executable, "-c", command], check=False)
    assert done.returncode == 1


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
