"""Fork server: the process that training processes are forked from, one a node and allocator.

It imports torch and the like once, then forks: a fresh process in 17 ms instead of 6 s of
imports. A fork copies only the calling thread, while locks of other threads stay locked
in the child for ever. So the server starts no thread, runs no OpenMP region (its thread pool
would be missing in the child) and touches no GPU (a CUDA context does not survive a fork).

    python -m orchestrator.execution.process.forkserver SOCKET MODULE ...

A module after a ``?`` can also be imported by the children themselves: the trainable's module.

A client connects as :mod:`~orchestrator.execution.process.fork_client` describes it. When it
hangs up, even by dying, its child is killed with everything it has started, in any session. When
the server's owner closes standard input, or dies, the server kills all children and all processes
that have the folder of the socket in their environment, removes the folder, and exits.
"""

import atexit
import gc
import importlib
import io
import json
import multiprocessing
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any, NoReturn

from orchestrator.execution.process.fork_client import READY
from orchestrator.system.cgroup import without_collecting
from orchestrator.system.import_path import IMPORT_PATH, environment_with, first_here, import_from
from orchestrator.system.lifeline import (
    adopt_orphans,
    die_with_parent,
    end_leftovers,
    end_marked,
    heed_again,
    kill_group,
    leave_to_driver,
)
from orchestrator.system.processes import children_of
from orchestrator.trainable import IF_POSSIBLE

REMOVE_S = 20.0
"""Longest time of trying to remove a folder: the kernel ends the processes that write to it."""


@dataclass(frozen=True, kw_only=True)
class _Child:
    pid: int
    pidfd: int
    client: Connection


class ForkServer:
    """Forks a child for each request, and kills it when its client hangs up."""

    def __init__(self, listener: socket.socket, path: Path) -> None:
        """Serve on ``listener``, which is bound at ``path``."""
        self._listener, self._path = listener, path
        self._children: dict[int, _Child] = {}
        # A module may have started a process when it was imported.
        self._of_modules = set(children_of(os.getpid()))
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ, self._owner_gone)

    def serve(self) -> NoReturn:
        """Serve until the owner hangs up."""
        try:
            while True:
                for key, _ in self._selector.select():
                    key.data(key.fileobj)
        finally:
            traceback.print_exc()
            self._kill_children()
            with suppress(OSError):
                self._path.unlink()
            # Not by unwinding, which could take long or hang: the next client is to find the
            # server gone, and have another one started.
            os._exit(1)

    def _accept(self, _listener: object) -> None:
        client = Connection(self._listener.accept()[0].detach())
        try:
            request, channel = client.recv(), recv_handle(client)
        except (EOFError, OSError):  # the client has gone
            client.close()
        else:
            self._fork(client, request, channel)

    def _fork(self, client: Connection, request: tuple[Any, Any], channel: int) -> None:
        """Fork a child, and watch its end by a pidfd in the same ``select`` as all else.

        SIGCHLD would need a handler, which the child inherits and the modules may replace.
        """
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:  # too many processes, or no memory: others continue
            os.close(channel)
            _send(client, f"no process could be forked: {error.strerror}")
            client.close()
            return
        if pid == 0:
            self._become_child(client, request, channel, server)
        # A copy that stays open here would hide the child's end from its supervisor.
        os.close(channel)
        # The pid is still the child's, even if it has exited: it has not been waited for.
        child = _Child(pid=pid, pidfd=os.pidfd_open(pid), client=client)
        self._children[pid] = child
        for source in (client, child.pidfd):
            self._selector.register(source, selectors.EVENT_READ, lambda _: self._end(child))
        _send(client, pid)

    def _become_child(
        self, client: Connection, request: tuple[Any, Any], channel: int, server: int
    ) -> NoReturn:
        """Drop everything of the server but its imports, then train."""
        status = 1
        try:
            die_with_parent(server)
            heed_again()  # not Ctrl-C: the driver alone decides what that means for trials
            adopt_orphans()  # what it starts stays below it, however far it forks itself away
            # A separate session and process group: the group is what is stopped for others'
            # time slices and killed at the end, loader workers included; and a Ctrl-C at the
            # terminal goes to the driver alone.
            os.setsid()
            # Those of the server's imports are not the trial's, and torch's take 50 ms.
            atexit._clear()
            # A connection ends when its last descriptor is closed. A client that hangs up waits
            # for the server to end it, and would wait in vain while a sibling has a copy.
            self._selector.close()
            self._listener.close()
            client.close()
            for sibling in self._children.values():
                sibling.client.close()
                os.close(sibling.pidfd)
            from orchestrator.execution.process.child import run_child

            status = run_child(*request, channel)
            _end_as_python_does()
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            # Not sys.exit: taking torch apart object by object takes seconds.
            os._exit(status)

    def _end(self, child: _Child) -> None:
        """End a child that has exited, or whose client has hung up, and all that it started."""
        if self._children.get(child.pid) is not child:
            return  # both in the same moment: one select returned both events
        # The rest of its group: loader workers that have not noticed its end yet. Before the
        # wait: until then the number of the group cannot be given to another process.
        kill_group(child.pid)
        # It blocks for the kernel's cleaning up alone, since a SIGKILL is not put off.
        _, status = os.waitpid(child.pid, 0)
        self._selector.unregister(child.client)
        self._selector.unregister(child.pidfd)
        os.close(child.pidfd)
        del self._children[child.pid]
        end_leftovers(self._of_modules | self._children.keys())
        _send(child.client, os.waitstatus_to_exitcode(status))
        child.client.close()

    def _owner_gone(self, _stdin: object) -> NoReturn:
        self._kill_children()
        end_marked(self._path.parent)  # Ray's workers have separate groups
        # An owner that was killed cannot remove it.
        remove_folder(self._path.parent)
        os._exit(0)

    def _kill_children(self) -> None:
        for child in self._children.values():
            kill_group(child.pid)
        end_leftovers(self._of_modules)


def remove_folder(folder: Path) -> None:
    """Remove a folder in which processes that are being killed may still create files."""
    deadline = time.monotonic() + REMOVE_S
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.01)


def _send(client: Connection, message: int | str) -> None:
    with suppress(OSError):
        client.send(message)


def _end_as_python_does() -> None:
    """Wait for threads, run exit handlers, write buffered files; the supervisor limits the time."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for each in gc.get_objects():
        with suppress(Exception):  # it may be closed, or only read
            if issubclass(type(each), io.IOBase):
                each.flush()


def _import(module: str) -> None:
    if not module.startswith(IF_POSSIBLE):
        importlib.import_module(module)
        return
    try:
        importlib.import_module(module.removeprefix(IF_POSSIBLE))
    except (Exception, SystemExit):  # noqa: BLE001 - a child meets the same, and has a row for it
        traceback.print_exc()


def main(arguments: list[str]) -> NoReturn:
    """Listen on the socket, import the modules, then serve the clients that wait."""
    path, *modules = arguments
    Path(path).unlink(missing_ok=True)  # of a server that died
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    del sys.argv[1:]  # what is imported may read it, and knows none of these
    leave_to_driver()
    # Some services start their jobs with it ignored: no child could be waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    adopt_orphans()
    # multiprocessing removes its files, but not those of a loader worker that is killed.
    temporary_files = Path(path).with_suffix(".tmp")
    temporary_files.mkdir(exist_ok=True)
    multiprocessing.current_process()._config["tempdir"] = str(temporary_files)  # type: ignore[attr-defined]
    # The owner's folders, here and in all processes that trials start.
    import_from(json.loads(os.environ.pop(IMPORT_PATH, "[]")))
    os.environ.update(environment_with(*first_here()))
    # The driver has warned of a sweep's old fields.
    warnings.filterwarnings("ignore", ".*now of a sweep's rigor", FutureWarning)
    with without_collecting():
        for module in modules:
            _import(module)
        # Modules that every child needs, whatever it trains.
        for module in ("orchestrator.execution.process.child", "orchestrator.sweep.loading"):
            importlib.import_module(module)
    Path(path).with_suffix(READY).touch()
    ForkServer(listener, Path(path)).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
