"""Processes forked from a server, and the server that they are forked from."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from orchestrator.execution.process.fork_client import ForkedProcess
from orchestrator.execution.process.ranks import request
from orchestrator.kernel.executor import Rank
from tests.orchestrator.execution.supervised import launch_of


@contextmanager
def forked(socket: Path, folder: Path, name: str = "trial") -> Iterator[ForkedProcess]:
    """Fork a process that trains until it is hung up on."""
    launch = launch_of(folder, name, act="wait", duration_s=600)
    process = ForkedProcess(socket, request(launch, Rank()))
    try:
        yield process
    finally:
        process.hang_up()


def server_of(process: ForkedProcess) -> psutil.Process:
    parent = psutil.Process(process.pid).parent()
    assert parent is not None
    return parent


def wait_for_group(process: ForkedProcess) -> None:
    """Wait until the process has a group of its own, a moment after its fork."""
    deadline = time.monotonic() + 30
    while os.getpgid(process.pid) != process.pid:
        assert time.monotonic() < deadline, "it stays in the server's group"
        time.sleep(0.01)


def wait_for(process: psutil.Process, status: str) -> None:
    deadline = time.monotonic() + 30
    while process.status() != status:
        assert time.monotonic() < deadline, f"{process} is not {status}"
        time.sleep(0.01)
