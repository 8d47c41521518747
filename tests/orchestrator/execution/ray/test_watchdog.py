"""Whether Ray's processes live, and a Ray that dies under Tune."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace

import psutil
import pytest
import ray

from orchestrator.execution.ray import watchdog
from orchestrator.execution.ray.watchdog import MOST_FAILURES, Abandoned, Watchdog
from orchestrator.kernel.executor import ExecutorLost
from tests.helping import awaited


@pytest.fixture
def made_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, psutil.Process]]:
    """Processes with the names of Ray's, an agent below the raylet."""
    made = {}
    monkeypatch.setattr(watchdog, "_FIRST", ("sleep", "sh"))
    gcs = subprocess.Popen(["sleep", "600"], process_group=0)
    raylet = subprocess.Popen(["sh", "-c", "sleep 601; true"], process_group=0)
    made["gcs"], made["raylet"] = psutil.Process(gcs.pid), psutil.Process(raylet.pid)
    while not made["raylet"].children():
        pass
    (made["agent"],) = made["raylet"].children()
    yield made
    for process in (gcs, raylet):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_all_live_until_one_dies_and_the_others_are_killed(
    made_ray: dict[str, psutil.Process],
) -> None:
    processes = Watchdog(is_our_own=True)
    try:
        assert processes.lost() == ""
        made_ray["agent"].kill()
        made_ray["raylet"].wait()
        assert processes.lost().startswith("Ray's agent has died"), "the raylet followed it"
        processes.kill()
        gone, _ = psutil.wait_procs(made_ray.values(), timeout=10)
        assert len(gone) == 3
    finally:
        processes.close()


def test_a_process_of_a_cluster_is_dead_after_several_missing_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    context = SimpleNamespace(gcs_address=f"127.0.0.1:{port}", get_node_id=lambda: "here")
    monkeypatch.setattr(ray, "get_runtime_context", lambda: context)
    monkeypatch.setattr(ray, "nodes", list)
    monkeypatch.setattr(watchdog, "ASK_S", 0.0)
    processes = Watchdog(is_our_own=False)
    assert processes.lost() == ""
    listener.close()
    answers = [processes.lost() for _ in range(MOST_FAILURES)]
    assert answers[:-1] == [""] * (MOST_FAILURES - 1)
    assert answers[-1] == f"the cluster's GCS at 127.0.0.1:{port} does not answer"


# -- Tune in a thread


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOK_S", 0.01)
    monkeypatch.setattr(watchdog, "ABANDON_S", 0.2)


class Watched(Watchdog):
    """A watchdog without processes; ``lost`` reports a death."""

    def __init__(self, lost: Callable[[], str] = lambda: "") -> None:
        self._leaders, self._is_abandoned, self._lost = [], threading.Event(), lost

    def lost(self) -> str:
        return self._lost()


def test_an_error_of_tunes_is_the_callers_unless_ray_has_died() -> None:
    def body() -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        Watched().run(body)
    with pytest.raises(ExecutorLost, match="raylet has died"):
        Watched(lambda: "Ray's raylet has died").run(body)


@pytest.mark.parametrize("is_within_ray", [False, True])
def test_a_death_ends_tune_or_abandons_it_within_ray(is_within_ray: bool) -> None:
    dead, within_ray = threading.Event(), threading.Event()
    tune = Watched(lambda: "Ray's GCS has died" if dead.is_set() else "")

    def body() -> None:
        dead.set()
        if is_within_ray:
            within_ray.wait(60)
        awaited(tune.is_over, "its end")
        raise Abandoned

    with pytest.raises(ExecutorLost, match="GCS has died"):
        tune.run(body)
    assert tune.is_stuck is is_within_ray
    within_ray.set()


def test_a_second_interrupt_abandons_tune() -> None:
    interrupted = threading.Event()

    def lost() -> str:
        if threading.current_thread() is threading.main_thread() and not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt
        return ""

    tune = Watched(lost)

    def body() -> None:
        interrupted.wait(60)
        awaited(tune.is_over, "its end")
        raise Abandoned

    with pytest.raises(KeyboardInterrupt):
        tune.run(body)
    assert not tune.is_stuck
