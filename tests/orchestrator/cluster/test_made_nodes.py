"""What is left of nodes whose tests were killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.orchestrator.cluster.made_nodes import missing
from tests.orchestrator.cluster.outside_tmp import folder_outside_tmp

TESTS = """
import time
from tests.orchestrator.cluster.made_nodes import made_network

with made_network() as network:
    network.add("one")
    network.add("two").start("sleep", "infinity")
    print(network.shared, flush=True)
    time.sleep(600)
"""


def command(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


@pytest.mark.cluster
def test_nodes_end_with_tests_that_are_killed() -> None:
    if reason := missing():
        pytest.skip(f"no nodes can be made: {reason}")
    tests = subprocess.Popen([sys.executable, "-c", TESTS], cwd=ROOT, stdout=subprocess.PIPE)
    assert tests.stdout is not None
    shared = Path(tests.stdout.readline().decode().strip())
    below = psutil.Process(tests.pid).children(recursive=True)
    (first,) = (each for each in below if each.name() == "sh" and "hostname one" in command(each))
    (kept,) = first.children()
    kept.kill()  # as a guard against leaks may do
    assert psutil.wait_procs([first], timeout=20)[1] == [], "it would take a core for ever"

    tests.kill()
    tests.communicate()

    assert psutil.wait_procs(below, timeout=20)[1] == []
    with folder_outside_tmp("sweep-nodes-"):
        assert not shared.exists(), "the next tests remove it"


def test_a_folder_is_its_tests_while_they_live() -> None:
    with folder_outside_tmp("sweep-a-test-") as first, folder_outside_tmp("sweep-a-test-"):
        assert first.is_dir()
    assert not first.exists()
