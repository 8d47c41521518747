from __future__ import annotations

import os
import signal
import socket as sockets
import threading
import time
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.process.fork_client import GONE_WITHIN_S, ForkedProcess, NotForked
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.ranks import request
from orchestrator.kernel.executor import Rank
from tests.orchestrator.execution.process.serving import forked, server_of, wait_for, wait_for_group
from tests.orchestrator.execution.supervised import PRELOAD, launch_of


def socket_of(servers: ForkServers) -> Path:
    return servers.socket_for("tuned", PRELOAD)


def test_a_child_that_ends_as_its_client_hangs_up_ends_no_server(
    servers: ForkServers, tmp_path: Path
) -> None:
    socket = socket_of(servers)
    with forked(socket, tmp_path, "first") as first:
        server = server_of(first)
        server.suspend()  # so that one select returns both events
        wait_for(server, psutil.STATUS_STOPPED)
        os.kill(first.pid, signal.SIGKILL)
        wait_for(psutil.Process(first.pid), psutil.STATUS_ZOMBIE)
        hanging_up = threading.Thread(target=first.hang_up)
        hanging_up.start()
        time.sleep(0.1)
        server.resume()
        hanging_up.join()
    with forked(socket, tmp_path, "second") as second:
        assert server_of(second) == server
        assert second.poll() is None


def test_a_client_that_connects_and_goes_ends_no_server(
    servers: ForkServers, tmp_path: Path
) -> None:
    socket = socket_of(servers)
    with forked(socket, tmp_path, "first") as first:
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as impatient:
            impatient.connect(str(socket))
        with forked(socket, tmp_path, "second") as second:
            assert server_of(second) == server_of(first)


def test_a_request_may_be_larger_than_a_buffer_of_the_kernel(
    servers: ForkServers, tmp_path: Path
) -> None:
    asked = request(launch_of(tmp_path), Rank())
    process = ForkedProcess(socket_of(servers), {**asked, "padding": "x" * 500_000})
    try:
        assert process.poll(30.0) == 0
    finally:
        process.hang_up()


def test_too_many_open_files_end_no_server(servers: ForkServers, tmp_path: Path) -> None:
    socket = socket_of(servers)
    with forked(socket, tmp_path, "first") as first:
        server = server_of(first)
        before = server.rlimit(psutil.RLIMIT_NOFILE)
        try:
            limit_files(server, 2)  # the client and its channel, but not the child
            with (
                pytest.raises(NotForked, match="Too many open files"),
                forked(socket, tmp_path, "second"),
            ):
                pass
            limit_files(server, 0)
            threading.Timer(0.3, server.rlimit, (psutil.RLIMIT_NOFILE, before)).start()
            with forked(socket, tmp_path, "third") as third:
                assert server_of(third) == server
        finally:
            server.rlimit(psutil.RLIMIT_NOFILE, before)
        assert first.poll() is None


def limit_files(server: psutil.Process, num_more: int) -> None:
    """Let a process open so many files more."""
    used = {int(each.name) for each in Path(f"/proc/{server.pid}/fd").iterdir()}
    free = [number for number in range(len(used) + num_more + 1) if number not in used]
    server.rlimit(psutil.RLIMIT_NOFILE, (free[num_more], server.rlimit(psutil.RLIMIT_NOFILE)[1]))


def test_a_child_has_a_process_group_of_its_own(servers: ForkServers, tmp_path: Path) -> None:
    with forked(socket_of(servers), tmp_path) as process:
        wait_for_group(process)


def test_a_child_holds_no_connection_of_another(servers: ForkServers, tmp_path: Path) -> None:
    """Else a client would wait in vain for the end of its connection while the other lives."""
    socket = socket_of(servers)
    with forked(socket, tmp_path, "first") as first, forked(socket, tmp_path, "second") as second:
        began = time.monotonic()
        first.hang_up()
        assert time.monotonic() - began < GONE_WITHIN_S
        assert not psutil.pid_exists(first.pid)
        assert second.poll() is None


def test_a_request_that_is_none_ends_no_server(servers: ForkServers, tmp_path: Path) -> None:
    path = socket_of(servers)
    with forked(path, tmp_path, "first") as first:
        with (
            sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as client,
            path.with_suffix(".log").open() as log,
        ):
            client.connect(str(path))
            sockets.send_fds(client, [b"no request\n"], [log.fileno()])
            assert client.recv(1) == b""
        with forked(path, tmp_path, "second") as second:
            assert server_of(second) == server_of(first)


def test_a_trainable_s_own_module_is_imported_before_the_fork(tmp_path: Path) -> None:
    (tmp_path / "own_module.py").write_text(
        "import os, pathlib\n"
        "pathlib.Path(__file__).with_name('importer').write_text(str(os.getpid()))\n"
    )
    servers = ForkServers(python_path=[str(tmp_path)])
    try:
        with forked(servers.socket_for("tuned", ("?own_module",)), tmp_path) as process:
            assert int((tmp_path / "importer").read_text()) == server_of(process).pid
    finally:
        servers.close()


@pytest.mark.parametrize(
    "content", [None, "raise ValueError('not here')", "import sys; sys.exit()"]
)
def test_without_it_a_server_serves_all_the_same(tmp_path: Path, content: str | None) -> None:
    """Its children, which have the paths of the sweep file, may find it."""
    if content is not None:
        (tmp_path / "own_module.py").write_text(content)
    servers = ForkServers(python_path=[str(tmp_path)])
    try:
        with forked(servers.socket_for("tuned", ("?own_module",)), tmp_path) as process:
            assert process.poll() is None
    finally:
        servers.close()
