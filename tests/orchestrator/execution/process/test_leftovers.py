"""What a trial starts in sessions of its own ends with it, whatever ends the trial."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.process.fork_client import ForkedProcess
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.leftovers import remove_folder
from orchestrator.execution.process.ranks import request
from orchestrator.kernel.executor import Rank
from tests.leaks import alive_after
from tests.orchestrator.execution.process.serving import server_of, wait_for
from tests.orchestrator.execution.supervised import PRELOAD, launch_of


def socket_of(servers: ForkServers) -> Path:
    return servers.socket_for("tuned", PRELOAD)


def detached(folder: Path) -> list[int]:
    """Wait for the processes that a trial has started in sessions of its own; return their ids."""
    path, deadline = folder / "scratch/pids", time.monotonic() + 60
    while True:
        pids = [int(pid) for pid in path.read_text().split()] if path.exists() else []
        if len(pids) == 2 and alive_after(pids, within_s=0) == pids:
            return pids
        assert time.monotonic() < deadline, "they were not started"
        time.sleep(0.01)


def a_process_that_detaches(socket: Path, folder: Path, duration_s: float = 600) -> ForkedProcess:
    asked = request(launch_of(folder, act="detach", duration_s=duration_s), Rank())
    return ForkedProcess(socket, asked)


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


@pytest.mark.parametrize("how", ["started again", "closed", "its owner closed it"])
def test_they_end_with_a_server_that_has_ended(tmp_path: Path, how: str) -> None:
    with closing(ForkServers()) as servers:
        socket = socket_of(servers)
        process = a_process_that_detaches(socket, tmp_path)
        pids = detached(tmp_path)
        if how != "its owner closed it":
            server = server_of(process)
            server.kill()
            assert process.poll(30) == -signal.SIGKILL
            wait_for(server, psutil.STATUS_ZOMBIE)  # its owner has not waited for it
        if how == "started again":
            servers.socket_for("tuned", PRELOAD)
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
