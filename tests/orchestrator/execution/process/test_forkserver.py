from __future__ import annotations

import json
import os
import signal
import socket as sockets
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import psutil
import pytest

from orchestrator.execution.base import Rank
from orchestrator.execution.process.fork_client import ForkedProcess, ForkServers, ServerError
from orchestrator.execution.process.ranks import request
from tests.orchestrator.execution.conftest import LaunchOf


@pytest.fixture
def servers() -> Iterator[ForkServers]:
    made = ForkServers()
    yield made
    made.close()


def started(socket: Path, launch_of: LaunchOf, name: str) -> ForkedProcess:
    launch = launch_of(name, epochs=1000, step_ms=5.0)
    rank = Rank(index=0, world_size=1, cores=(), num_cores=1, gpus=(), master=None)
    return ForkedProcess(socket, request(launch, rank))


def server_of(process: ForkedProcess) -> psutil.Process:
    parent = psutil.Process(process.pid).parent()
    assert parent is not None
    return parent


def until(process: psutil.Process, status: str) -> None:
    deadline = time.monotonic() + 10
    while process.status() != status:
        assert time.monotonic() < deadline, f"{process} is not {status}"
        time.sleep(0.01)


def test_a_child_that_ends_as_its_client_hangs_up_ends_no_server(
    servers: ForkServers, launch_of: LaunchOf
) -> None:
    socket = servers.socket_for("tuned", ())
    first = started(socket, launch_of, "first")
    server = server_of(first)
    server.suspend()  # so that it hears of both at once
    until(server, psutil.STATUS_STOPPED)
    os.kill(first.pid, signal.SIGKILL)
    until(psutil.Process(first.pid), psutil.STATUS_ZOMBIE)
    first.hang_up()
    server.resume()

    second = started(socket, launch_of, "second")
    assert server_of(second) == server
    assert second.poll() is None
    second.hang_up()


def test_a_client_that_hangs_up_at_once_ends_no_server(
    servers: ForkServers, launch_of: LaunchOf
) -> None:
    path = servers.socket_for("tuned", ())
    first = started(path, launch_of, "first")
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as impatient:
        impatient.connect(str(path))
    assert server_of(started(path, launch_of, "second")) == server_of(first)


def test_an_exit_code_is_told_again(servers: ForkServers, launch_of: LaunchOf) -> None:
    process = started(servers.socket_for("tuned", ()), launch_of, "killed")
    os.kill(process.pid, signal.SIGTERM)
    codes = [process.poll(10.0), process.poll(), process.poll()]
    process.hang_up()
    assert codes == [-signal.SIGTERM] * 3


IMPORTED = {
    "noisy": "print('Error: not one of ours', flush=True)\nimport time\ntime.sleep(1)\n",
    "broken": "print('about to go', flush=True)\nimport os\nos._exit(3)\n",
}


def server_with(module: str, folder: Path) -> ForkServers:
    (folder / f"{module}.py").write_text(IMPORTED[module])
    return ForkServers(python_path=[str(folder)])


def test_a_server_may_print_what_it_likes_meanwhile(tmp_path: Path, launch_of: LaunchOf) -> None:
    servers = server_with("noisy", tmp_path)
    try:
        process = started(servers.socket_for("tuned", ("noisy",)), launch_of, "first")
        assert process.poll() is None
        process.hang_up()
    finally:
        servers.close()


def test_a_server_that_ends_while_it_imports_is_said_at_once(
    tmp_path: Path, launch_of: LaunchOf
) -> None:
    servers, began = server_with("broken", tmp_path), time.monotonic()
    try:
        with pytest.raises(ServerError, match="did not start:\nabout to go"):
            started(servers.socket_for("tuned", ("broken",)), launch_of, "first")
    finally:
        servers.close()
    assert time.monotonic() - began < 60


def test_a_server_that_breaks_takes_its_socket_along(
    servers: ForkServers, launch_of: LaunchOf
) -> None:
    path = servers.socket_for("tuned", ())
    started(path, launch_of, "first").hang_up()
    with (
        sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as client,
        path.with_suffix(".log").open() as log,
    ):
        client.connect(str(path))
        sockets.send_fds(client, [b"no request"], [log.fileno()])
        assert client.recv(1) == b""
    assert not path.exists()


def test_a_server_that_dies_is_said_and_the_next_one_serves(
    servers: ForkServers, launch_of: LaunchOf
) -> None:
    first = started(servers.socket_for("tuned", ()), launch_of, "first")
    server = server_of(first)
    server.suspend()
    Timer(0.3, server.kill).start()

    with pytest.raises(ServerError, match="the fork server ended"):
        started(servers.socket_for("tuned", ()), launch_of, "second")
    deadline = time.monotonic() + 10
    while first.poll() != -9 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert first.poll() == -9, "its children end with it"
    until(server, psutil.STATUS_ZOMBIE)  # its sockets are closed a moment before
    third = started(servers.socket_for("tuned", ()), launch_of, "third")
    assert json.loads(third.channel.recv_bytes())["report"]["epoch"] == 1
