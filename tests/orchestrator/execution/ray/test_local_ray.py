"""A Ray of the driver's own: what is started, where it listens, what it leaves where."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.ray import local_ray
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.local_ray import (
    CannotStart,
    await_processes,
    private_to_driver,
    start_local,
    why_not,
)
from tests.orchestrator.made_nvml import Gpu, MadeNvml


def raylets() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.name() == "raylet"]


def test_nothing_polls_beside_the_trials_for_machines_logs_or_pages(
    ray_executor: RayExecutor,
) -> None:
    names = set()
    for child in psutil.Process().children():
        with suppress(psutil.ZombieProcess):
            names |= {Path(part).name for part in child.cmdline()}
    assert "raylet" in names
    assert not {"monitor.py", "log_monitor.py", "dashboard.py"} & names
    assert not any(name.startswith("ray::Dashboard") for name in names)


def test_a_signal_to_the_drivers_group_does_not_reach_ray(ray_executor: RayExecutor) -> None:
    assert raylets()
    assert os.getpgid(0) not in {os.getpgid(raylet.pid) for raylet in raylets()}


def test_processes_that_have_been_started_are_not_waited_for(ray_executor: RayExecutor) -> None:
    waiting = threading.Thread(target=await_processes)
    waiting.start()
    waiting.join(timeout=2.0)
    assert not waiting.is_alive()


def test_ray_numbers_the_gpus_that_may_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {}

    def init(*, num_gpus: int, **_: object) -> None:
        given.update(num_gpus=num_gpus, visible=os.environ["CUDA_VISIBLE_DEVICES"])

    gpus = (Gpu(uuid="GPU-a"), Gpu(uuid="GPU-not-ours", permitted=False), Gpu(uuid="GPU-b"))
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*gpus))
    monkeypatch.setattr("ray.init", init)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    start_local(tmp_path)

    assert given == {"num_gpus": 2, "visible": "GPU-a,GPU-b"}
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def family() -> Iterator[psutil.Process]:
    """This process, and all of Ray's below it."""
    yield psutil.Process()
    yield from psutil.Process().children(recursive=True)


def test_ray_listens_on_the_loopback_interface_alone(ray_executor: RayExecutor) -> None:
    addresses = set()
    for process in family():
        with suppress(psutil.Error):
            found = process.net_connections("inet")
            addresses |= {each.laddr.ip for each in found if each.status == psutil.CONN_LISTEN}
    assert addresses
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_all_of_rays_files_are_in_the_private_folder(ray_executor: RayExecutor) -> None:
    folder = ray_executor._folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    token = folder / "ray" / "token"
    assert (stat.S_IMODE(token.stat().st_mode), len(token.read_text())) == (0o600, 64)
    assert list(folder.glob("ray/session_*/logs/raylet.out"))
    sockets = {folder / "ray" / "plasma", folder / "ray" / "raylet"}
    assert all(stat.S_ISSOCK(path.stat().st_mode) for path in sockets)
    for raylet in raylets():
        assert token.read_text() not in " ".join(raylet.cmdline())
    for name in ("RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):  # trials need none of it
        assert name not in os.environ


def test_ray_is_deaf_to_what_the_driver_acts_on(ray_executor: RayExecutor) -> None:
    (raylet,) = raylets()
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        raylet.send_signal(number)
    assert raylets()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_a_command_line_is_not_rays_to_keep() -> None:
    import ray

    before = signal.getsignal(signal.SIGTERM)
    with private_to_driver():
        assert ray._private.utils.get_entrypoint_name() == "python -m orchestrator"
        assert not ray._private.ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV
        ray._private.utils.set_sigterm_handler(lambda *_: None)
    assert signal.getsignal(signal.SIGTERM) is before
    assert ray._private.ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV


def test_a_process_that_dies_while_ray_starts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other than those that Ray needs: not even that of its pages, if there were one."""
    alive = {1: "gcs_server", 2: "raylet"}
    monkeypatch.setattr(local_ray, "first_processes", lambda: dict(alive))
    processes = local_ray._Processes(lambda: False)
    assert processes.refusal() == ""
    del alive[2]
    assert processes.refusal() == "its raylet has died"


def test_other_threads_run_while_a_port_is_waited_for(tmp_path: Path) -> None:
    """The driver's too, which acts on signals and on the death of the process."""
    node, name, found = "ab" * 28, "gcs_server_port", list[int]()

    def wait() -> None:
        found.append(local_ray._await_port(str(tmp_path), node, name, timeout_ms=60_000))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    (tmp_path / f"{name}_{node}").write_text("1234")
    waiting.join(30)
    assert found == [1234]
    with pytest.raises(RuntimeError, match="Timed out"):
        local_ray._await_port(str(tmp_path), node, "another_port", timeout_ms=1)


def test_what_ray_raises_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        raise RuntimeError("one\ntwo")

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(CannotStart, match=r"^one$"):
        start_local(tmp_path)


@pytest.mark.parametrize(
    ("raised", "log", "why"),
    [
        ("[Errno 24] Too many open files", "", "the system refuses a process of Ray: Too many"),
        ("timed out", "x\nbind: Permission denied\n", "refuses a process of Ray: Permission"),
        ("Something else.\nTwo", "fine", "Something else."),
        ("", "", "RuntimeError"),
    ],
)
def test_the_reason_is_the_kernels_else_rays(
    tmp_path: Path, raised: str, log: str, why: str
) -> None:
    logs = tmp_path / "session_1" / "logs"
    logs.mkdir(parents=True)
    (logs / "raylet.err").write_text(log)
    assert why in why_not(RuntimeError(raised), tmp_path)
