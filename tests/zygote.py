"""Fork servers of the tests' runs, forked from one process that has torch imported already.

A fork server imports torch for a second and a half, longer than most sweeps of the tests take.
Here one process a test run imports it. Each server is still a process with its own environment,
folder, output and children; only the allocators are as in that one.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, NoReturn

SOCKET = "SWEEP_TESTS_ZYGOTE"
"""Environment variable with the path of its socket."""
PRELOADED = (
    "torch", "torch._dynamo", "orchestrator.execution.process.child", "orchestrator.sweep.loading",
)  # fmt: skip
PLACE = "orchestrator.execution.process.fork_servers._started"
"""Starts a fork server; :class:`Forked` replaces it."""
STARTED: list[subprocess.Popen[bytes]] = []
"""The processes that this one has started; the last may run."""


def start() -> None:
    """Start it, unless one answers; it ends with this process.

    A process that a test forks or starts has the socket of that test's.
    """
    if _answers():
        return
    command = [sys.executable, "-m", "tests.zygote", os.environ[SOCKET]]
    root = Path(__file__).parents[1]
    started = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, start_new_session=True)
    STARTED.append(started)
    while not _answers():
        assert started.poll() is None, "torch cannot be imported"
        time.sleep(0.02)


def _answers() -> bool:
    with socket.socket(socket.AF_UNIX) as control:
        return control.connect_ex(os.environ[SOCKET]) == 0


def stop() -> None:
    """End it, if this process has started it."""
    for process in STARTED:
        process.communicate()


class Forked:
    """Stands for the ``subprocess.Popen`` of a fork server."""

    def __init__(self, command: list[str], env: dict[str, str], stdout: IO[bytes]) -> None:
        """Fork what ``command`` would start, ``python -P -m MODULE ARGUMENTS``."""
        ours, self._control = os.pipe(), socket.socket(socket.AF_UNIX)
        self._control.connect(os.environ[SOCKET])
        request = json.dumps({"argv": command[3:], "env": env, "cwd": str(Path.cwd())})
        socket.send_fds(self._control, [b"."], [ours[0], stdout.fileno()])
        self._control.sendall(request.encode() + b"\n")
        os.close(ours[0])
        self.stdin = os.fdopen(ours[1], "wb")
        self._answers = self._control.makefile()
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        if self.returncode is None and select.select([self._control], [], [], 0)[0]:
            self.returncode = int(self._answers.readline())
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code."""
        if self.returncode is None and not select.select([self._control], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("fork server", timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def kill(self) -> None:
        """Kill it; no effect after its end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def serve(path: Path) -> None:
    """Import the slow modules, then fork until standard input is closed."""
    for module in PRELOADED:
        importlib.import_module(module)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps ended children
    unfinished = path.with_suffix(".tmp")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(unfinished))
        listener.listen(64)
        unfinished.rename(path)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _follow(client)
            client.close()


def _follow(client: socket.socket) -> NoReturn:
    """Fork one server and report its pid, then its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    first, descriptors, *_ = socket.recv_fds(client, 1, 2)
    if not first:  # it asked whether one answers
        os._exit(0)
    request = json.loads(client.makefile().readline())
    pid = os.fork()
    if pid == 0:
        client.close()
        _become(request, *descriptors)
    for descriptor in (0, *descriptors):
        os.close(descriptor)
    client.sendall(f"{pid}\n".encode())
    client.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n".encode())
    os._exit(0)


def _become(request: dict[str, Any], stdin: int, log: int) -> None:
    os.setsid()
    for descriptor, target in ((stdin, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, target)
    os.close(stdin)
    os.close(log)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    root = str(Path(__file__).parents[1])
    folders = request["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = dict.fromkeys([*filter(None, folders), *(f for f in sys.path if f != root)])
    module, *sys.argv[1:] = request["argv"]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
    os._exit(0)  # without destructors of torch's
