from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.base import Rank
from orchestrator.execution.process.fork_client import (
    ForkedProcess,
    ForkServers,
    ServerError,
    server_key,
)
from orchestrator.execution.process.ranks import request
from tests.orchestrator.execution.process.serving import forked, server_of, wait_for, wait_for_group
from tests.orchestrator.execution.supervised import PRELOAD, launch_of


@pytest.fixture
def own_servers() -> Iterator[ForkServers]:
    """Servers that the test may kill."""
    made = ForkServers()
    yield made
    made.close()


def test_one_server_an_allocator_and_list_of_modules(servers: ForkServers) -> None:
    first = servers.socket_for("tuned", PRELOAD)
    assert servers.socket_for("tuned", PRELOAD) == first
    assert servers.warm([("tuned", PRELOAD)]) == {server_key("tuned", PRELOAD): str(first)}
    assert server_key("tuned", PRELOAD) != server_key("default", PRELOAD)


def test_an_exit_code_is_returned_again(servers: ForkServers, tmp_path: Path) -> None:
    with forked(servers.socket_for("tuned", PRELOAD), tmp_path) as process:
        os.kill(process.pid, signal.SIGTERM)
        codes = [process.poll(10.0), process.poll(), process.poll()]
    assert codes == [-signal.SIGTERM] * 3


def test_hanging_up_returns_when_the_memory_is_free(servers: ForkServers, tmp_path: Path) -> None:
    """The kernel takes some time to free a GiB, in which the cores are not the next trial's."""
    launch = launch_of(tmp_path, act="eat", mib=256)
    process = ForkedProcess(servers.socket_for("tuned", PRELOAD), request(launch, Rank()))
    seen, deadline = psutil.Process(process.pid), time.monotonic() + 60
    while seen.memory_info().rss < 2**30 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.hang_up()
    assert not psutil.pid_exists(seen.pid)


def test_a_stopped_process_is_stopped_until_it_is_resumed(
    servers: ForkServers, tmp_path: Path
) -> None:
    with forked(servers.socket_for("tuned", PRELOAD), tmp_path) as process:
        wait_for_group(process)
        seen = psutil.Process(process.pid)
        process.pause()
        wait_for(seen, psutil.STATUS_STOPPED)
        process.resume()
        deadline = time.monotonic() + 30
        while seen.status() == psutil.STATUS_STOPPED and time.monotonic() < deadline:
            time.sleep(0.01)
        assert seen.status() != psutil.STATUS_STOPPED


IMPORTED = {
    "noisy": "print('Error: not one of ours', flush=True)\nimport time\ntime.sleep(0.2)\n",
    "broken": "print('about to go', flush=True)\nimport os\nos._exit(3)\n",
}


def servers_with(module: str, folder: Path) -> ForkServers:
    (folder / f"{module}.py").write_text(IMPORTED[module])
    return ForkServers(python_path=[str(folder)])


def test_a_server_may_print_while_it_imports(tmp_path: Path) -> None:
    servers = servers_with("noisy", tmp_path)
    try:
        with forked(servers.socket_for("tuned", ("noisy",)), tmp_path) as process:
            assert process.poll() is None
    finally:
        servers.close()


def test_a_server_that_ends_while_it_imports_fails_at_once(tmp_path: Path) -> None:
    servers, began = servers_with("broken", tmp_path), time.monotonic()
    try:
        with (
            pytest.raises(ServerError, match="did not start:\nabout to go"),
            forked(servers.socket_for("tuned", ("broken",)), tmp_path),
        ):
            pass
    finally:
        servers.close()
    assert time.monotonic() - began < 60


def test_a_server_that_dies_ends_its_children_and_the_next_one_serves(
    own_servers: ForkServers, tmp_path: Path
) -> None:
    with forked(own_servers.socket_for("tuned", ()), tmp_path, "first") as first:
        server, child = server_of(first), psutil.Process(first.pid)
        server.suspend()
        wait_for(server, psutil.STATUS_STOPPED)
        killing = threading.Timer(0.2, server.kill)
        killing.start()
        with (
            pytest.raises(ServerError, match="the fork server ended"),
            forked(own_servers.socket_for("tuned", ()), tmp_path, "second"),
        ):
            pass
        killing.join()
        assert psutil.wait_procs([child], timeout=10)[1] == []
        assert first.poll(10.0) == -9
        wait_for(server, psutil.STATUS_ZOMBIE)  # its sockets are closed a moment before
    with forked(own_servers.socket_for("tuned", ()), tmp_path, "third") as third:
        assert third.poll() is None


def test_closing_ends_servers_and_children_and_removes_their_folder(
    own_servers: ForkServers, tmp_path: Path
) -> None:
    path = own_servers.socket_for("tuned", ())
    with forked(path, tmp_path) as process:
        child = psutil.Process(process.pid)
        own_servers.close()
        assert psutil.wait_procs([child], timeout=10)[1] == []
        assert process.poll(10.0) == -9
    assert not path.parent.exists()
