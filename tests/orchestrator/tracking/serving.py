"""A real tracking server in a separate process."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

START_LIMIT_S = 180.0


@contextmanager
def serving(folder: Path, port: int, *arguments: str) -> Iterator[str]:
    """Run a tracking server; it is killed with all its workers at the end."""
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            [*command, *arguments], cwd=folder, stdout=log, stderr=log, start_new_session=True,
            # Without the half a dozen processes that run jobs, which nothing here asks for.
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )  # fmt: skip
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", server, folder)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2)
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"no answer from {address}:\n{(folder / 'server.log').read_text()[-2000:]}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
