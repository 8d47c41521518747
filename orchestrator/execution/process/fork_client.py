"""The fork servers of a node, and the processes forked from them, as a client sees them."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from orchestrator.execution.process.messages import tail_of
from orchestrator.system.allocators import allocator_environment

START_LIMIT_S = 120.0
"""A server that has not imported its modules by then has failed."""
GONE_WITHIN_S = 2.0
"""Who was killed has gone by then, unless the kernel holds it: nobody waits longer for it."""


class ServerError(RuntimeError):
    """A fork server could not be started; the message holds the end of its output."""


class ForkServers:
    """Starts this node's fork servers on demand, one for each allocator and module list."""

    def __init__(self, *, folder: Path | None = None, python_path: Sequence[str] = ()) -> None:
        """Has no server yet.

        Args:
            folder: Where their sockets are; it is removed with all that is in it when they
                end, also where their owner has been killed. Default: a new private one.
            python_path: Folders that the servers import the project's code from.
        """
        self._folder = folder or Path(tempfile.mkdtemp(prefix="sweep-"))
        self._python_path = list(python_path)
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        atexit.register(self.close)

    def socket_for(self, allocator: str, modules: Sequence[str]) -> Path:
        """The socket of a server; it is started where there is none, not waited for.

        Raises:
            LookupError: The allocator is not installed.
        """
        key = server_key(allocator, modules)
        path = self._folder / key
        server = self._servers.get(key)
        if server is None or server.poll() is not None:
            self._servers[key] = self._start(path, allocator, modules)
        return path

    def warm(self, preload: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
        """Starts the servers of ``preload``, but those whose allocator is not installed.

        Returns:
            Their sockets by :func:`server_key`.
        """
        sockets = {}
        for allocator, modules in preload:
            with suppress(LookupError):
                sockets[server_key(allocator, modules)] = str(self.socket_for(allocator, modules))
        return sockets

    def _start(self, path: Path, allocator: str, modules: Sequence[str]) -> subprocess.Popen[bytes]:
        environment = allocator_environment(allocator, os.environ)
        python_path = [*self._python_path, *filter(None, [environment.get("PYTHONPATH")])]
        environment |= {"PYTHONPATH": os.pathsep.join(python_path), "DGLBACKEND": "pytorch"}
        with path.with_suffix(".log").open("wb") as log:
            fcntl.flock(log, fcntl.LOCK_SH)  # the server's as well, until it ends
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "orchestrator.execution.process.forkserver",
                    str(path),
                    *modules,
                ],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def close(self) -> None:
        """Ends the servers and every process forked from them."""
        for server in self._servers.values():
            if server.stdin is not None:
                with suppress(OSError):
                    server.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                server.wait(timeout=5)
            server.kill()
            server.wait()
        self._servers.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)


def server_key(allocator: str, modules: Sequence[str]) -> str:
    """What tells a node's fork servers apart."""
    return hashlib.sha256("\0".join([allocator, *modules]).encode()).hexdigest()[:12]


class ForkedProcess:
    """A process forked from a server. Hanging up kills it and all that it started."""

    def __init__(self, server: Path, request: Mapping[str, Any]) -> None:
        """Has ``server`` fork a process for ``request``.

        Raises:
            ServerError: The server did not come up, or ended before it had forked.
        """
        self._control = _connect(server)
        ours, theirs = socket.socketpair()
        self.channel = Connection(ours.detach())
        self._buffer = b""
        self._exit_code: int | None = None
        try:
            with theirs:
                payload = json.dumps(request).encode()
                socket.send_fds(self._control, [payload], [theirs.fileno()])
            self.pid = int(self._read_line()["pid"])
        except (OSError, EOFError) as error:
            self.hang_up()
            output = tail_of(server.with_suffix(".log"))
            raise ServerError(f"the fork server ended:\n{output}".rstrip()) from error

    def poll(self, timeout_s: float = 0.0) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        if self._exit_code is None and select.select([self._control], [], [], timeout_s)[0]:
            try:
                self._exit_code = int(self._read_line()["exit"])
            except (EOFError, OSError):
                self._exit_code = -9  # the server has gone, and its children with it
        return self._exit_code

    def pause(self) -> None:
        """Stops the process and all else in its group, until :meth:`resume`."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on. One that has ended meanwhile has."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def hang_up(self) -> None:
        """Has the process, its loader workers and all else in its group killed.

        Returns when it has gone, which takes as long as the kernel takes for its memory: until
        then its cores are busy. Safe to call more than once.
        """
        self.channel.close()
        deadline = time.monotonic() + GONE_WITHIN_S
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # the server kills, waits, and closes its end
            while select.select([self._control], [], [], max(deadline - time.monotonic(), 0))[0]:
                if not self._control.recv(4096):
                    break
        self._control.close()

    def _read_line(self) -> dict[str, int]:
        while b"\n" not in self._buffer:
            data = self._control.recv(4096)
            if not data:
                raise EOFError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, int] = json.loads(line)
        return message


def _connect(server: Path) -> socket.socket:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            control.connect(str(server))
        except (FileNotFoundError, ConnectionRefusedError) as error:
            control.close()
            log = server.with_suffix(".log")
            if _has_ended(log) or time.monotonic() > deadline:
                output = tail_of(log)
                raise ServerError(f"the fork server did not start:\n{output}") from error
            time.sleep(0.02)
        else:
            return control


def _has_ended(log: Path) -> bool:
    """Whether the server that writes this has ended: it holds a lock while it lives."""
    try:
        with log.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return True
    return True
