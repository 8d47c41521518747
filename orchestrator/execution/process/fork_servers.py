"""Fork servers of a node: started on demand, ended with their owner."""

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.execution.process.fork_client import READY
from orchestrator.system.allocators import allocator_environment
from orchestrator.system.disk import private_folder
from orchestrator.system.import_path import IMPORT_PATH, environment_with, package_path
from orchestrator.system.lifeline import MARK, end_marked


@dataclass
class _Server:
    allocator: str
    modules: Sequence[str]
    process: subprocess.Popen[bytes]


class ForkServers:
    """This node's fork servers, started on demand: one for each allocator and module list.

    An allocator is chosen by environment variables at the start of a process, so a child has its
    server's allocator. All servers have the environment at the time when this object is made:
    variables that Ray sets later are not for the user's code.

    Attributes:
        folder: Folder of their sockets.
    """

    def __init__(self, *, folder: Path | None = None) -> None:
        """Begin without a server.

        Args:
            folder: Folder of their sockets. It is removed with all that is in it when they
                end, even if their owner was killed. Default: a new private one.
        """
        self.folder = folder or private_folder()
        self._environment = dict(os.environ)
        self._servers: dict[str, _Server] = {}
        atexit.register(self.close)

    def socket_for(self, allocator: str, modules: Sequence[str]) -> Path:
        """Return the socket of a server, which is started if needed; do not wait for it.

        Raises:
            LookupError: The allocator is not installed.
        """
        key = server_key(allocator, modules)
        path = self.folder / key
        server = self._servers.get(key)
        if server is None or server.process.poll() is not None:
            if server is not None:
                end_marked(path)
            process = self._start(path, allocator, modules)
            self._servers[key] = _Server(allocator, modules, process)
        return path

    def keep_up(self) -> None:
        """Restart each server that was killed, or that ended after it had served.

        A server that failed during its imports would fail again.
        """
        for key, server in list(self._servers.items()):
            code = server.process.poll()
            has_served = (self.folder / key).with_suffix(READY).exists()
            if code is not None and (code < 0 or has_served):
                self.socket_for(server.allocator, server.modules)

    def warm(self, preload: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Start the servers of ``preload``, except where the allocator is not installed."""
        for allocator, modules in preload:
            with suppress(LookupError):
                self.socket_for(allocator, modules)

    def _start(self, path: Path, allocator: str, modules: Sequence[str]) -> subprocess.Popen[bytes]:
        environment = allocator_environment(allocator, self._environment)
        environment[IMPORT_PATH] = json.dumps([folder or str(Path.cwd()) for folder in sys.path])
        # Its own folder first. The user's folders come later: a file there may be called types.py.
        environment = environment_with(*package_path(), environment=environment)
        # Without DGLBACKEND dgl asks for its backend, and writes the answer to a file.
        environment |= {"DGLBACKEND": "pytorch", MARK: str(path)}
        with path.with_suffix(".log").open("wb") as log:
            module = "orchestrator.execution.process.forkserver"
            # -P: the current folder is on the path already, where it is to be.
            command = [sys.executable, "-P", "-m", module, str(path), *modules]
            return _started(command, environment, log)

    def close(self) -> None:
        """End the servers and every process forked from them."""
        for key, server in self._servers.items():
            process = server.process
            assert process.stdin is not None, "it is a pipe"
            # A server that ends this way kills its children before it exits.
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            process.kill()
            if process.wait() != 0:  # it may have died before that
                end_marked(self.folder / key)
        self._servers.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)


def _started(
    command: list[str], environment: Mapping[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env=environment,
        # The server ends when this is closed. The kernel closes it if the owner is killed.
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        # A signal to the driver's process group is the driver's to handle.
        start_new_session=True,
    )


def server_key(allocator: str, modules: Sequence[str]) -> str:
    """Return the name of the fork server for an allocator and a list of modules."""
    return hashlib.sha256("\0".join([allocator, *modules]).encode()).hexdigest()[:12]
