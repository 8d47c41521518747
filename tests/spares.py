"""Spare processes: a command of tests starts its fork server in one that has torch imported.

Such a server spends a second and more on importing torch before it serves. A driver that was forked
from a process with torch keeps a fork of its own beginning for it. All else of the server is as it
is in a new interpreter: its command, variables, import path, output and session.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import resource_tracker
from typing import Any, NoReturn

SERVER = ("-P", "-m", "orchestrator.execution.process.forkserver")
FIRST_FREE = 3
"""Descriptors below are input and output."""


class Spare:
    """A process that waits until it is told what to become; it ends with its parent."""

    def __init__(self) -> None:
        """Fork it."""
        ours, theirs = socket.socketpair()
        parent, self.pid = os.getpid(), os.fork()
        if self.pid == 0:
            ours.close()
            _wait_to_become(theirs, parent)
        theirs.close()
        self._socket = ours

    def become(
        self, arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]
    ) -> None:
        """Have it run ``python -P -m MODULE ARGUMENTS``, with these as its input and output."""
        told = json.dumps([list(arguments), dict(environment)]).encode()
        socket.send_fds(self._socket, [len(told).to_bytes(8)], streams)
        self._socket.sendall(told)
        self._socket.close()


def keep_spare() -> None:
    """Keep one process for the first fork server that this process will start."""
    spares = [Spare()]

    class Popen(subprocess.Popen[Any]):
        def _execute_child(self, args: Any, *more: Any) -> None:  # noqa: ANN401
            environment, pipes = more[5] or {}, more[9:15]
            is_server = isinstance(args, list) and tuple(args[1:4]) == SERVER
            if not (is_server and spares) or "LD_PRELOAD" in environment:
                super()._execute_child(args, *more)  # type: ignore[misc]
                return
            spare = spares.pop()
            reads, _, _, writes, _, errors = pipes
            spare.become(args[3:], environment, [reads, writes, errors])
            self.pid, self._child_created = spare.pid, True
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    subprocess.Popen = Popen  # type: ignore[misc]


def _wait_to_become(channel: socket.socket, parent: int) -> NoReturn:
    status = 1
    try:
        size, streams, *_ = socket.recv_fds(channel, 8, 3)
        if size and os.getppid() == parent:
            told = b""
            while len(told) < int.from_bytes(size) and (more := channel.recv(1 << 20)):
                told += more
            arguments, environment = json.loads(told)
            _become(arguments, environment, streams)
        status = 0
    finally:
        os._exit(status)


def _become(arguments: list[str], environment: dict[str, str], streams: Sequence[int]) -> None:
    os.setsid()
    copies = [os.dup(stream) for stream in streams]  # one of them may be the place of another
    for number, copy in enumerate(copies):
        os.dup2(copy, number)
    os.closerange(FIRST_FREE, os.sysconf("SC_OPEN_MAX"))
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    for number, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, open(number, "w", closefd=False, buffering=1))  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    given = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = list(dict.fromkeys([*filter(None, given), *installed]))
    sys.argv = list(arguments)
    resource_tracker._resource_tracker.__init__()  # type: ignore[misc] # its pipe is closed now
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
