from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil

from orchestrator.execution.process.fork_client import ForkedProcess
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.ranks import request
from orchestrator.kernel.executor import Rank
from tests.orchestrator.execution.process.serving import forked, wait_for, wait_for_group
from tests.orchestrator.execution.supervised import PRELOAD, launch_of


def test_an_exit_code_is_returned_again(servers: ForkServers, tmp_path: Path) -> None:
    with forked(servers.socket_for("tuned", PRELOAD), tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        codes = [process.poll(10.0), process.poll(), process.poll()]
    assert codes == [-signal.SIGKILL] * 3


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
