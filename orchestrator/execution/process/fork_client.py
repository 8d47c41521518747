"""Fork client: a process forked from a server, as its supervisor sees it."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from orchestrator.execution.process.output import tail_of
from orchestrator.trial import TrialState

START_LIMIT_S = 120.0
"""Longest wait for a server to import its modules."""
GONE_WITHIN_S = 2.0
"""Longest wait for the end of a process that was killed; only the kernel can delay it longer."""


class ServerError(RuntimeError):
    """A fork server could not be started; the message contains the end of its output."""


class NotForked(ServerError):
    """A running server has not forked a process; the next try may succeed."""


@dataclass(frozen=True, kw_only=True)
class RankEnd:
    """The way a rank's process has ended.

    Attributes:
        code: Exit code, negative for a signal.
        result: State and reason that it has sent; None if it ended before its training did.
    """

    code: int
    result: Mapping[str, Any] | None = None

    @property
    def has_failed(self) -> bool:
        """True unless its training has completed, or was stopped."""
        states = (TrialState.FAILED, TrialState.INFEASIBLE)
        return self.result is None or self.result["state"] in states


class ForkedProcess:
    """A process forked from a server. Hanging up kills it and everything it started.

    Attributes:
        channel: Pipe to the process.
        pid: Its process id, which is also the id of its process group.
    """

    def __init__(self, server: Path, request: Mapping[str, Any]) -> None:
        """Ask ``server`` to fork a process for ``request``.

        Raises:
            NotForked: The server ended before it had forked, or could not fork.
            ServerError: The server did not come up.
        """
        self._control = _connect(server)
        ours, theirs = socket.socketpair()
        self.channel = Connection(ours.detach())
        self._buffer = b""
        self._exit_code: int | None = None
        self._end: RankEnd | None = None
        try:
            # The copy here is closed once sent: else the channel would not end with the child.
            with theirs:
                payload = json.dumps(request).encode() + b"\n"
                # The kernel may take a part of it. The descriptor goes with the first byte, the
                # rest alone.
                num_sent = socket.send_fds(self._control, [payload], [theirs.fileno()])
                if rest := payload[num_sent:]:  # a server that has refused is gone by now
                    self._control.sendall(rest)
            answer = self._read_line()
        except (OSError, EOFError) as error:
            self.hang_up()
            raise _lost(server, "ended", NotForked) from error
        if "error" in answer:
            self.hang_up()
            raise NotForked(str(answer["error"]))
        self.pid = int(answer["pid"])

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

    def end(self) -> RankEnd | None:
        """Return the end of the process. Nothing else may read its messages."""
        if (code := self.poll()) is None:
            return None
        if self._end is None:
            # All that it has sent is in the pipe by now.
            self._end = RankEnd(code=code, result=self.result_within(0.1))
        return self._end

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next message, or None if none comes in time or the process has ended."""
        try:
            if not self.channel.poll(timeout_s):
                return None
            message: dict[str, Any] = json.loads(self.channel.recv_bytes())
        except (EOFError, OSError, ValueError, MemoryError):
            # Bytes that the training function wrote to the pipe are skipped. A closed pipe is
            # readable at once, for ever. The exit status follows within milliseconds: without the
            # pause the caller would spin until then.
            time.sleep(0.01)
            return None
        return message

    def result_within(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the result that is under way, or None if none comes in time.

        Reports before it are skipped.
        """
        deadline = time.monotonic() + timeout_s
        # Against one deadline: reports that come all the time do not prolong the wait.
        while (left_s := deadline - time.monotonic()) > 0:
            message = self.receive(left_s)
            if message is not None and "result" in message:
                result: dict[str, Any] = message["result"]
                return result
        return None

    def pause(self) -> None:
        """Stop the process and its loader workers until :meth:`resume`.

        SIGSTOP cannot be caught or ignored, and the group includes all workers: a trial
        outside of its time slice takes no time from the running one.
        """
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process. No effect if it has ended meanwhile."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def hang_up(self) -> None:
        """Kill the process, its loader workers and everything else in its group.

        Return when it has ended: the kernel takes some time to free its memory, and its cores
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

    def _read_line(self) -> dict[str, int | str]:
        while b"\n" not in self._buffer:
            data = self._control.recv(4096)
            if not data:
                raise EOFError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, int | str] = json.loads(line)
        return message


def _connect(server: Path) -> socket.socket:
    """Connect to a server, which may still be importing."""
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            control.connect(str(server))
        # It is still importing, or the socket belongs to a dead server which it will replace.
        except (FileNotFoundError, ConnectionRefusedError) as error:
            control.close()
            if has_ended(server) or time.monotonic() > deadline:
                if isinstance(error, ConnectionRefusedError):  # it has served before
                    raise _lost(server, "ended", NotForked) from error
                raise _lost(server, "did not start", ServerError) from error
            time.sleep(0.02)
        else:
            return control


def _lost(server: Path, way: str, kind: type[ServerError]) -> ServerError:
    """Return an error with the last line of the server's log, a traceback's; then the log."""
    output = tail_of(server.with_suffix(".log")).strip()
    return kind(f"the fork server {way}: {output.rpartition(chr(10))[2]}\n{output}")


def has_ended(server: Path) -> bool:
    """Return True if the server of this socket has ended: its log is locked while it lives."""
    try:
        with server.with_suffix(".log").open("rb") as file:
            # The server's lock is shared: an exclusive one is refused as long as it is held.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return True
    return True
