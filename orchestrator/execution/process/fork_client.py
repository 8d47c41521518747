"""Fork client: a process forked from a server, as its supervisor sees it: its pipe, its output.

The pipe carries :mod:`~orchestrator.execution.process.messages`, and pickled answers to them. The
connection to the server carries pickles::

    client                                  server
    (launch, rank), end of the pipe  ──►
                                     ◄──    process id, or why none could be forked
    HANG_UP, or its end              ──►    kills the process
                                     ◄──    exit code, then its end
"""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import Any, Final

from orchestrator.execution.process.messages import Message, Reader, Result, encoded
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.texts import bounded
from orchestrator.trial import Report, TrialState

LISTENS_WITHIN_S, START_LIMIT_S = 30.0, 120.0
"""Longest wait for a server to listen, or its owner to start another; and to import its modules."""
READY: Final = ".ready"
"""Ending of the file beside a server's socket that shows that it has imported them."""
GONE_WITHIN_S = 2.0
"""Longest wait for the end of a process that was killed; only the kernel can delay it longer."""
HANG_UP: Final = "hang up"
MOST_BYTES: Final = 64 * 2**10
"""Bytes kept from the beginning of an output, and the same number from its end."""


class ServerError(RuntimeError):
    """A fork server could not be started; the message contains the end of its output."""


class NotForked(ServerError):
    """A running server has not forked a process; the next try may succeed."""


class PipeChannel:
    """The process's end of the pipe: sends reports without waiting for answers.

    Attributes:
        last: Newest report.
    """

    def __init__(self, connection: Connection) -> None:
        """Send over ``connection``."""
        self._connection = connection
        self._owner = os.getpid()
        self._is_to_stop = False
        self.last: Report | None = None

    def report(self, report: Report) -> bool:
        """Send a report; return True if the trial is to stop, as an answer to any report.

        The answer may be to an earlier report: training continues while the supervisor decides.
        """
        self.last = report
        self.send({"report": report})
        while os.getpid() == self._owner and self._connection.poll(0):
            self._receive()
        return self._is_to_stop

    def end_slice(self, progress: float) -> None:
        """End this trial's time slice, and wait for its next one.

        The supervisor stops the process and its loader workers meanwhile. The wait for the
        message, not the stop signal, is what ends the slice between two steps.
        """
        self.send({"slice_end": progress})
        self._receive()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message; a process that the training function has forked sends none."""
        if os.getpid() == self._owner:
            self._connection.send_bytes(encoded(message))

    def _receive(self) -> None:
        # A later message does not withdraw a stop.
        self._is_to_stop |= self._connection.recv() == "stop"


@dataclass(frozen=True, kw_only=True)
class RankEnd:
    """The way a rank's process has ended.

    Attributes:
        code: Exit code, negative for a signal.
        result: State and reason that it has sent; None if it ended before its training did.
    """

    code: int
    result: Result | None = None

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

    def __init__(self, server: Path, launch: Launch, rank: Rank) -> None:
        """Ask ``server`` to fork a process that trains one rank of a trial.

        Raises:
            NotForked: The server ended before it had forked, or could not fork.
            ServerError: The server did not come up.
        """
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        self._control = _connect(server)
        self._exit_code: int | None = None
        self._end: RankEnd | None = None
        self.channel, theirs = Pipe()
        self._messages = Reader(self.channel)
        try:
            # The copy here is closed once sent: else the channel would not end with the child.
            with theirs:
                self._control.send((launch, rank))
                send_handle(self._control, theirs.fileno(), 0)
            if not self._control.poll(START_LIMIT_S):
                raise TimeoutError
            answer = self._control.recv()
        except (OSError, EOFError) as error:
            self.hang_up()
            raise _lost(server) from error
        if isinstance(answer, str):
            self.hang_up()
            raise NotForked(answer)
        self.pid: int = answer

    def poll(self, timeout_s: float = 0.0) -> int | None:
        """Return the exit code, negative for a signal; None while it runs.

        Args:
            timeout_s: Longest wait for it.
        """
        if self._exit_code is None and self._control.poll(timeout_s):
            try:
                self._exit_code = self._control.recv()
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

    def receive(self, timeout_s: float) -> Message | None:
        """Return the next message, or None if none comes in time or the process has ended.

        Where anything else is in the pipe the message is the result of a failed trial.
        """
        try:
            return self._messages.next(timeout_s)
        except (EOFError, OSError):
            # A closed pipe is readable at once, for ever. The exit status follows within
            # milliseconds: without the pause the caller would spin until then.
            time.sleep(0.01)
            return None
        except ValueError as error:
            reason = bounded(f"its message cannot be read: {error}")
            return {"result": {"state": TrialState.FAILED, "reason": reason}}

    def result_within(self, timeout_s: float) -> Result | None:
        """Return the result that is under way, or None if none comes in time.

        Reports before it are skipped.
        """
        deadline = time.monotonic() + timeout_s
        # Against one deadline: reports that come all the time do not prolong the wait.
        while (left_s := deadline - time.monotonic()) > 0:
            message = self.receive(left_s)
            if message is not None and "result" in message:
                return message["result"]
        return None

    def freeze(self) -> None:
        """Stop the process and its loader workers until :meth:`thaw`.

        SIGSTOP cannot be caught or ignored, and the group includes all workers: a trial
        outside of its time slice takes no time from the running one.
        """
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
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
        with suppress(OSError, EOFError):
            # The server closes its end once the process has been killed and waited for.
            self._control.send(HANG_UP)
            while self._control.poll(max(deadline - time.monotonic(), 0)):
                self._exit_code = self._control.recv()
        self._control.close()


def _connect(server: Path) -> Connection:
    """Connect to a server, which may be about to listen, also in place of one that has died."""
    deadline = time.monotonic() + LISTENS_WITHIN_S
    while True:
        try:
            return Client(str(server))
        except (FileNotFoundError, ConnectionRefusedError) as error:
            if time.monotonic() > deadline:
                raise _lost(server) from error
            time.sleep(0.02)


def _lost(server: Path) -> ServerError:
    """Return an error with the last line of the server's log, a traceback's; then the log."""
    output = tail_of(server.with_suffix(".log")).strip()
    has_served = server.with_suffix(READY).exists()
    kind, way = (NotForked, "ended") if has_served else (ServerError, "did not start")
    return kind(f"the fork server {way}: {output.rpartition(chr(10))[2]}\n{output}")


# -- output


def output_of(path: Path) -> str:
    """Return an output file as text; for a long file, its first and last 64 KiB.

    It is empty if there is no file, or the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= 2 * MOST_BYTES:
                return file.read(2 * MOST_BYTES).decode(errors="replace")
            first = file.read(MOST_BYTES).decode(errors="replace")
            file.seek(size - MOST_BYTES)
            last = file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return f"{first}\n... {size - 2 * MOST_BYTES:,} bytes are left out here ...\n{last}"


def tail_of(path: Path, num_lines: int = 20) -> str:
    """Return the last lines of an output file; empty where there is none."""
    return "\n".join(output_of(path).splitlines()[-num_lines:])
