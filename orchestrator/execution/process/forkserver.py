"""The server that training processes are forked from, one a node and allocator.

It imports torch and the like once, then forks: a fresh process in milliseconds instead of
seconds of imports. It runs no OpenMP region and touches no GPU, so that its children can.

    python -m orchestrator.execution.process.forkserver SOCKET MODULE ...

A client connects, sends one request together with the child's report channel, and gets
the child's process id and later its exit status on the same connection. Whoever holds the
other end decides over life and death: a client that hangs up has its child and all of its
loader workers killed; when the owner of the server's standard input goes, everything does,
the folder of the socket included.
"""

from __future__ import annotations

import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from orchestrator.system.imports import without_collecting
from orchestrator.system.lifeline import adopt_orphans, die_with_parent

REQUEST_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class _Child:
    pid: int
    pidfd: int
    client: socket.socket


class ForkServer:
    """Forks a child for each request and watches over it."""

    def __init__(self, listener: socket.socket, path: Path) -> None:
        self._listener, self._path = listener, path
        self._children: dict[int, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(sys.stdin, selectors.EVENT_READ, self._owner_gone)

    def serve(self) -> NoReturn:
        """Serves until the owner hangs up."""
        try:
            while True:
                for key, _ in self._selector.select():
                    key.data(key.fileobj)
        except Exception:
            traceback.print_exc()
            raise
        finally:
            self._end(1)  # not by unwinding: whoever asks next is to find it gone

    def _accept(self, _listener: object) -> None:
        client, _ = self._listener.accept()
        try:
            request, descriptors, *_ = socket.recv_fds(client, REQUEST_BYTES, 1)
        except ConnectionError:
            client.close()
            return
        if not request or not descriptors:
            client.close()
            return
        self._fork(client, json.loads(request), descriptors[0])

    def _fork(self, client: socket.socket, request: dict[str, Any], channel: int) -> None:
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_child(client, request, channel, server)
        os.close(channel)
        child = _Child(pid=pid, pidfd=os.pidfd_open(pid), client=client)
        self._children[pid] = child
        self._selector.register(child.pidfd, selectors.EVENT_READ, lambda _: self._reap(child))
        self._selector.register(client, selectors.EVENT_READ, lambda _: self._client_gone(child))
        _send(client, {"pid": pid})

    def _become_child(
        self, client: socket.socket, request: dict[str, Any], channel: int, server: int
    ) -> NoReturn:
        """Leaves nothing of the server behind but its imports, then trains."""
        status = 1
        try:
            die_with_parent(server)
            os.setsid()
            self._selector.close()
            for inherited in (client, self._listener, *(c.client for c in self._children.values())):
                inherited.close()
            for sibling in self._children.values():
                os.close(sibling.pidfd)
            from orchestrator.execution.process.child import run_child

            status = run_child(request, channel)
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _reap(self, child: _Child) -> None:
        if self._children.get(child.pid) is not child:
            return  # its client hung up in the same moment
        # What is left of its group: loader workers that had not noticed yet. Its number is its
        # own until it is waited for.
        _kill_group(child.pid)
        _, status = os.waitpid(child.pid, 0)
        self._forget(child)
        _send(child.client, {"exit": os.waitstatus_to_exitcode(status)})
        child.client.close()

    def _client_gone(self, child: _Child) -> None:
        if self._children.get(child.pid) is not child:
            return  # it ended in the same moment
        _kill_group(child.pid)
        os.waitpid(child.pid, 0)
        self._forget(child)
        child.client.close()

    def _forget(self, child: _Child) -> None:
        self._selector.unregister(child.pidfd)
        self._selector.unregister(child.client)
        os.close(child.pidfd)
        del self._children[child.pid]
        _reap_orphans(self._children)

    def _owner_gone(self, _stdin: object) -> NoReturn:
        self._kill_children()
        # An owner that was killed cannot.
        shutil.rmtree(self._path.parent, ignore_errors=True)
        os._exit(0)

    def _end(self, code: int) -> NoReturn:
        """Takes every child along."""
        self._kill_children()
        with suppress(OSError):
            self._path.unlink()
        os._exit(code)

    def _kill_children(self) -> None:
        for child in self._children.values():
            _kill_group(child.pid)


def _reap_orphans(children: dict[int, _Child]) -> None:
    """Waits for grandchildren that were handed to this process when their parent died."""
    for entry in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        if int(entry) not in children:
            with suppress(ChildProcessError):
                os.waitpid(int(entry), os.WNOHANG)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _send(client: socket.socket, message: dict[str, int]) -> None:
    with suppress(OSError):
        client.sendall(json.dumps(message).encode() + b"\n")


def main(arguments: list[str]) -> NoReturn:
    """Imports the modules, then serves on the socket."""
    path, *modules = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    with without_collecting():
        for module in modules:
            importlib.import_module(module)
        # What every child needs whatever it trains.
        for module in ("orchestrator.execution.process.child", "orchestrator.sweep.loading"):
            importlib.import_module(module)
    beside = f"{path}.{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(beside)
    listener.listen(64)
    Path(beside).rename(path)
    ForkServer(listener, Path(path)).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
