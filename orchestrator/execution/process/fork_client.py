"""Fork client: the fork servers of a node, and the processes forked from them."""

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
"""Longest wait for a server to import its modules."""
GONE_WITHIN_S = 2.0
"""Longest wait for the end of a process that was killed; only the kernel can hold it longer."""


class ServerError(RuntimeError):
    """A fork server could not be started; the message holds the end of its output."""


class ForkServers:
    """This node's fork servers, started on demand: one for each allocator and module list.

    An allocator is chosen by environment variables at the start of a process, so a child has its
    server's.
    """

    def __init__(self, *, folder: Path | None = None, python_path: Sequence[str] = ()) -> None:
        """Begin without a server.

        Args:
            folder: Folder of their sockets. It is removed with all that is in it when they
                end, even if their owner was killed. Default: a new private one.
            python_path: Folders that the servers import the project's code from.
        """
        self._folder = folder or Path(tempfile.mkdtemp(prefix="sweep-"))
        self._python_path = list(python_path)
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        atexit.register(self.close)

    def socket_for(self, allocator: str, modules: Sequence[str]) -> Path:
        """Return the socket of a server. It is started if there is none, but not waited for.

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
        """Start the servers of ``preload``, except where the allocator is not installed.

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
            # The lock belongs to the open file, which the server inherits as its output: it is
            # held until the server ends, however it ends. So a client in any process of the
            # node can tell a server that is still importing from one that has died.
            fcntl.flock(log, fcntl.LOCK_SH)
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
        """End the servers and every process forked from them."""
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
    """Return the name of the fork server for an allocator and a list of modules."""
    return hashlib.sha256("\0".join([allocator, *modules]).encode()).hexdigest()[:12]


class ForkedProcess:
    """A process forked from a server. Hanging up kills it and all that it started.

    Attributes:
        channel: Pipe to the process.
        pid: Its process id, which is that of its process group too.
    """

    def __init__(self, server: Path, request: Mapping[str, Any]) -> None:
        """Ask ``server`` to fork a process for ``request``.

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
        """Return the exit code, negative for a signal; None while it runs.

        Args:
            timeout_s: Longest wait for it.
        """
        if self._exit_code is None and select.select([self._control], [], [], timeout_s)[0]:
            try:
                self._exit_code = int(self._read_line()["exit"])
            except (EOFError, OSError):
                self._exit_code = -9  # the server has gone, and its children were killed with it
        return self._exit_code

    def pause(self) -> None:
        """Stop the process and its loader workers until :meth:`resume`.

        SIGSTOP cannot be caught or ignored, and the group has all workers in it: a trial that
        is not scheduled takes no time of the one that runs.
        """
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on. No effect if it has ended meanwhile."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def hang_up(self) -> None:
        """Have the process, its loader workers and all else in its group killed.

        Return when it has gone: the kernel takes some time to free its memory, and its cores
        are busy until then. Safe to call more than once.
        """
        self.channel.close()
        deadline = time.monotonic() + GONE_WITHIN_S
        with suppress(OSError):
            # Half of the connection stays open: the server closes its end once the process has
            # been killed and waited for.
            self._control.shutdown(socket.SHUT_WR)
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
    """Connect to a server, which may have its imports still to do."""
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
    """Return True if the server that writes this log has ended: it holds a lock while it lives."""
    try:
        with log.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return True
    return True
