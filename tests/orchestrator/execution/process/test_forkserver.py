import os
import signal
import socket as sockets
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest

from orchestrator.execution.process.fork_client import GONE_WITHIN_S, ForkedProcess
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.forkserver import remove_folder
from orchestrator.kernel.executor import Rank
from tests.helping import awaited
from tests.leaks import alive_after
from tests.orchestrator.execution.supervised import (
    PRELOAD,
    forked,
    launch_of,
    server_of,
    wait_for,
    wait_for_group,
)


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


def test_client_that_connects_and_goes_ends_no_server(servers: ForkServers, tmp_path: Path) -> None:
    socket = socket_of(servers)
    with forked(socket, tmp_path, "first") as first:
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as impatient:
            impatient.connect(str(socket))
        with forked(socket, tmp_path, "second") as second:
            assert server_of(second) == server_of(first)


def test_request_may_be_larger_than_buffer_of_kernel(servers: ForkServers, tmp_path: Path) -> None:
    launch = replace(launch_of(tmp_path), preload=("x" * 500_000,))
    process = ForkedProcess(socket_of(servers), launch, Rank())
    try:
        assert process.poll(30.0) == 0
    finally:
        process.hang_up()


def test_a_child_has_no_connection_of_another(servers: ForkServers, tmp_path: Path) -> None:
    """Else a client would wait in vain for the end of its connection while the other lives."""
    socket = socket_of(servers)
    with forked(socket, tmp_path, "first") as first, forked(socket, tmp_path, "second") as second:
        began = time.monotonic()
        first.hang_up()
        assert time.monotonic() - began < GONE_WITHIN_S
        assert not psutil.pid_exists(first.pid)
        assert second.poll() is None


MARKS = """
import os, pathlib
pathlib.Path(__file__).with_name("importer").write_text(str(os.getpid()))
"""


@pytest.mark.usefixtures("quick_servers")
@pytest.mark.parametrize(
    "content", [MARKS, None, "raise ValueError('not here')", "import sys; sys.exit()"]
)
def test_a_trainable_s_own_module_is_imported_before_the_fork_if_possible(
    tmp_path: Path, content: str | None
) -> None:
    """The children, which have the paths of the sweep file, may find it where a server cannot."""
    if content is not None:
        (tmp_path / "own_module.py").write_text(content)
    with (
        patch.object(sys, "path", [str(tmp_path), *sys.path]),
        closing(ForkServers()) as servers,
        forked(servers.socket_for("tuned", ("?own_module",)), tmp_path) as process,
    ):
        assert process.poll() is None
        if content == MARKS:
            assert int((tmp_path / "importer").read_text()) == server_of(process).pid


def test_an_exit_code_is_returned_again(servers: ForkServers, tmp_path: Path) -> None:
    with forked(socket_of(servers), tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        codes = [process.poll(10.0), process.poll(), process.poll()]
    assert codes == [-signal.SIGKILL] * 3


def test_hanging_up_returns_when_the_memory_is_free(servers: ForkServers, tmp_path: Path) -> None:
    """The kernel takes some time to free a GiB, in which the cores are not the next trial's."""
    launch = launch_of(tmp_path, act="eat", mib=256)
    process = ForkedProcess(socket_of(servers), launch, Rank())
    seen = psutil.Process(process.pid)
    awaited(lambda: seen.memory_info().rss >= 2**30, "a GiB", within_s=60)
    process.hang_up()
    assert not psutil.pid_exists(seen.pid)


def test_a_stopped_process_is_stopped_until_it_is_resumed(
    servers: ForkServers, tmp_path: Path
) -> None:
    with forked(socket_of(servers), tmp_path) as process:
        wait_for_group(process)
        seen = psutil.Process(process.pid)
        process.freeze()
        wait_for(seen, psutil.STATUS_STOPPED)
        process.thaw()
        awaited(lambda: seen.status() != psutil.STATUS_STOPPED, "it runs")


# -- processes that trials start in new sessions end with them


def detached(folder: Path) -> list[int]:
    """Wait for the processes that a trial has started in new sessions; return their ids."""
    path = folder / "scratch/pids"

    def found() -> list[int]:
        pids = [int(pid) for pid in path.read_text().split()] if path.exists() else []
        return pids if len(pids) == 2 and alive_after(pids, within_s=0) == pids else []

    return awaited(found, "two processes", within_s=60)


def a_process_that_detaches(socket: Path, folder: Path, duration_s: float = 600) -> ForkedProcess:
    launch = launch_of(folder, act="detach", duration_s=duration_s)
    return ForkedProcess(socket, launch, Rank())


def test_they_end_with_a_trial_that_ends_by_itself(servers: ForkServers, tmp_path: Path) -> None:
    process = a_process_that_detaches(socket_of(servers), tmp_path, duration_s=0.5)
    pids = detached(tmp_path)
    assert process.poll(30) == 0
    assert alive_after(pids, within_s=0) == [], "all has gone when its end is told"
    process.hang_up()


def test_they_end_with_a_trial_that_was_killed_and_those_of_others_do_not(
    servers: ForkServers, tmp_path: Path
) -> None:
    socket, (one, other) = socket_of(servers), (tmp_path / "one", tmp_path / "other")
    one.mkdir()
    other.mkdir()
    first, second = a_process_that_detaches(socket, one), a_process_that_detaches(socket, other)
    killed, spared = detached(one), detached(other)
    os.kill(first.pid, signal.SIGKILL)
    assert first.poll(30) == -signal.SIGKILL
    assert alive_after(killed, within_s=0) == []
    assert alive_after(spared, within_s=0) == spared
    first.hang_up()
    second.hang_up()
    assert alive_after(spared, within_s=0) == []


@pytest.mark.usefixtures("quick_servers")
def test_they_end_with_a_server_that_its_owner_closes(tmp_path: Path) -> None:
    with closing(ForkServers()) as servers:
        process = a_process_that_detaches(socket_of(servers), tmp_path)
        pids = detached(tmp_path)
        servers.close()
        assert alive_after(pids, within_s=5) == []
        process.hang_up()


@pytest.mark.parametrize("is_started_again", [True, False])
def test_they_end_with_a_server_that_was_killed(tmp_path: Path, is_started_again: bool) -> None:
    with closing(ForkServers()) as servers:
        process = a_process_that_detaches(servers.socket_for("tuned", ()), tmp_path)
        pids = detached(tmp_path)
        server = server_of(process)
        server.kill()
        assert process.poll(30) == -signal.SIGKILL
        wait_for(server, psutil.STATUS_ZOMBIE)  # its owner has not waited for it
        if is_started_again:
            servers.socket_for("tuned", ())
        else:
            servers.close()
        assert alive_after(pids, within_s=5) == []
        process.hang_up()


def test_a_folder_goes_although_a_process_that_ends_still_writes_there(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    writer = subprocess.Popen(
        ["timeout", "1", "sh", "-c", "while :; do i=$((i+1)); : > $0/$i; done", folder],
        stderr=subprocess.DEVNULL,
    )
    remove_folder(folder)
    writer.wait()
    assert not folder.exists()
