"""The driver's own Ray: the processes it starts, where they listen, what they leave behind."""

import ctypes
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import ray

from orchestrator.execution.ray import connection
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.local_ray import CannotStart, start_local
from tests.conftest import RunCli
from tests.orchestrator.helpers.made_nvml import Gpu, MadeNvml


def test_nothing_polls_for_machines_logs_or_pages_during_trials(
    ray_executor: RayExecutor,
) -> None:
    names = set()
    for child in psutil.Process().children():
        with suppress(psutil.ZombieProcess):
            names |= {Path(part).name for part in child.cmdline()}
    assert "raylet" in names
    assert not {"monitor.py", "log_monitor.py", "dashboard.py"} & names
    assert not any(name.startswith("ray::Dashboard") for name in names)


def test_ray_numbers_gpus_that_may_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    children = psutil.Process().children()
    for raylet in (child for child in children if child.name() == "raylet"):
        assert os.getpgid(raylet.pid) != os.getpgid(0), "a signal to the driver's group is not its"
        assert token.read_text() not in " ".join(raylet.cmdline())
    for name in ("RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):  # trials need none of it
        assert name not in os.environ


def test_what_ray_raises_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        raise RuntimeError("one\ntwo")

    monkeypatch.setattr("ray.init", init)
    with pytest.raises(CannotStart, match=r"^one$"):
        start_local(tmp_path)


# -- Ray itself: its start, and what is not there


WORKLOAD = Path(__file__).parents[1] / "workload.py"


def test_command_line_names_an_address_without_a_cluster(run_cli: RunCli, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    done = run_cli(WORKLOAD, "--address", address, "--no-mlflow", "--out", tmp_path / "run", code=2)
    assert f"--address {address}: no Ray cluster answers there: Connection refused" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit("no")])
def test_what_it_raises_is_an_exception(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        raise raised

    monkeypatch.setattr("ray.init", fails)
    with pytest.raises(Exception, match=r"^no$"):
        connection.init()


def test_a_signal_and_a_command_line_are_not_rays_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray takes both in Python, and the signal in C++ as well."""
    before = signal.getsignal(signal.SIGTERM)

    def takes(**_: object) -> None:
        assert ray._private.utils.get_entrypoint_name() == "python -m orchestrator"
        ray._private.utils.set_sigterm_handler(lambda *_: None)
        ctypes.CDLL(None).signal(int(signal.SIGTERM), None)

    heard: list[int] = []
    monkeypatch.setattr("ray.init", takes)
    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        connection.init()
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
