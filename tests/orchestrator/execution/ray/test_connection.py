"""Ray itself: what is not there, and leaving it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.execution.ray.connection import connect
from tests.conftest import ROOT, RunCli

WORKLOAD = Path(__file__).parents[1] / "workload.py"

GARBAGE = """
import threading
import ray
from orchestrator.execution.ray.executor import RayExecutor

class Cycle:
    def __init__(self, reference):
        self.reference, self.itself = reference, self

executor = RayExecutor()
references = [ray.put(number) for number in range(4_000)]
closed = threading.Event()

def collect():
    while references and not closed.is_set():
        Cycle(references.pop())
        [[] for _ in range(2_500)]  # enough for a collection

collecting = threading.Thread(target=collect)
collecting.start()
executor.close()
closed.set()
collecting.join()
print("closed")
"""


@pytest.mark.slow
def test_closing_survives_garbage_that_another_thread_collects() -> None:
    """Without care two of three runs end with exit code 1."""
    done = subprocess.run(
        [sys.executable, "-c", GARBAGE],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr


@pytest.fixture
def unused_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_connecting_fails_at_once_where_nothing_listens(unused_port: int) -> None:
    with pytest.raises(ConnectionError, match="Connection refused"):
        connect(f"127.0.0.1:{unused_port}", None)


def test_the_command_line_names_an_address_without_a_cluster(
    run_cli: RunCli, tmp_path: Path, unused_port: int
) -> None:
    address = f"127.0.0.1:{unused_port}"
    done = run_cli(WORKLOAD, "--address", address, "--no-mlflow", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert f"--address {address}" in done.stderr
    assert "Traceback" not in done.stderr
