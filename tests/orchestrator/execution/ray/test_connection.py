"""Ray itself: what is started, what is not there, and leaving it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.ray.connection import await_processes, connect, start_local
from orchestrator.execution.ray.executor import RayExecutor
from tests.conftest import ROOT, RunCli
from tests.orchestrator.made_nvml import Gpu, MadeNvml

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


def raylets() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.name() == "raylet"]


def test_nothing_polls_beside_the_trials_for_machines_or_logs(ray_executor: RayExecutor) -> None:
    names = set()
    for child in psutil.Process().children():
        with suppress(psutil.ZombieProcess):
            names |= {Path(part).name for part in child.cmdline()}
    assert "raylet" in names
    assert not {"monitor.py", "log_monitor.py"} & names


def test_a_signal_to_the_drivers_group_does_not_reach_ray(ray_executor: RayExecutor) -> None:
    assert raylets()
    assert os.getpgid(0) not in {os.getpgid(raylet.pid) for raylet in raylets()}


def test_processes_that_have_been_started_are_not_waited_for(ray_executor: RayExecutor) -> None:
    waiting = threading.Thread(target=await_processes)
    waiting.start()
    waiting.join(timeout=2.0)
    assert not waiting.is_alive()


def test_ray_numbers_the_gpus_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def init(*, num_gpus: int, **_: object) -> None:
        given.update(num_gpus=num_gpus, visible=os.environ["CUDA_VISIBLE_DEVICES"])

    gpus = (Gpu(uuid="GPU-a"), Gpu(uuid="GPU-not-ours", permitted=False), Gpu(uuid="GPU-b"))
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*gpus))
    monkeypatch.setattr("ray.init", init)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    start_local()

    assert given == {"num_gpus": 2, "visible": "GPU-a,GPU-b"}
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
