"""The driver's side of the mirror: it starts the writer's process, reads its messages, ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.kernel.events import Event, Opened, Resumed, Started
from orchestrator.kernel.parts import Fold
from orchestrator.regular_files import open_to_append
from orchestrator.repository import package_path
from orchestrator.storage.files import RunFile
from orchestrator.storage.replacing import replace_file
from orchestrator.tracking.mlflow.uris import checked_uri, how_to_open, shown

LOG_NAME = "mlflow.log"
LOCK_NAME = ".mlflow.lock"

_MAX_STARTS = 4


class MlflowMirror(Fold):
    """A sweep in MLflow.

    The driver itself neither imports MLflow nor waits for it before :meth:`close`.
    """

    def __init__(
        self,
        run_dir: Path,
        uri: str,
        *,
        experiment: str = "",
        say: Callable[[str], None],
        bound_s: float = 120.0,
    ) -> None:
        """Start nothing before the first event.

        Args:
            run_dir: The run directory; the journal is there.
            uri: MLflow's tracking URI.
            experiment: MLflow's experiment. Default: the sweep's name.
            say: Takes a line that the user should read; called at most once.
            bound_s: How long :meth:`close` may take.

        Raises:
            SweepError: ``uri`` is none that MLflow's run tables can be at.
        """
        self._run_dir = run_dir.absolute()
        self._uri = checked_uri(uri)
        self._experiment = experiment
        self._say_once: Callable[[str], None] | None = say
        self._bound_s = bound_s
        self._writer: _Writer | None = None
        self._num_starts = 0
        self._trials_run = False
        self._failure = ""
        self._status: dict[str, Any] = {}
        self._shown_by: list[str] = []

    def apply(self, event: Event) -> None:
        """Start the writer, which reads the journal itself, and have it yield to trials."""
        match event:
            case Opened() | Resumed() if self._writer is None:
                self._start()
            case Started() if not self._trials_run:
                self._trials_run = True
                self._send("yield")

    def tick(self) -> None:
        """Read the writer's messages, and start another writer if it has died."""
        if self._writer is None:
            return
        self._read_messages(self._writer)
        if self._writer.returncode is not None and self._num_starts < _MAX_STARTS:
            self._problem(f"its writer died with {self._writer.returncode}")
            self._writer.stop()
            self._start()
            if self._trials_run:
                # A new process begins at the usual priority.
                self._send("yield")

    def close(self, exit_code: int) -> list[str]:
        """Let the writer finish, for a bounded time; return the lines that show where to look."""
        if self._num_starts == 0:
            return []
        deadline = time.monotonic() + self._bound_s
        self.tick()
        self._send(f"finish {exit_code}")
        while self._writer is not None and not self._status.get("done"):
            if self._writer.returncode is not None:
                self._read_messages(self._writer)
                if self._writer.returncode >= 0 or self._num_starts >= _MAX_STARTS:
                    break
                self.tick()  # it was killed: another one finishes
                self._send(f"finish {exit_code}")
            if time.monotonic() >= deadline:
                self._failure = self._failure or f"not finished within {self._bound_s:g} s"
                break
            time.sleep(0.02)
            self._read_messages(self._writer)
        if self._writer is not None:
            self._writer.stop()
            self._writer = None
        return self._last_lines()

    def _start(self) -> None:
        self._num_starts += 1
        try:
            self._writer = _Writer(self._run_dir, self._uri, self._experiment)
        except OSError as error:
            self._writer = None
            self._problem(f"its writer cannot be started: {error}")

    def _send(self, command: str) -> None:
        if self._writer is not None and not self._writer.send(command):
            self._problem(self._failure or "its writer has died")

    def _read_messages(self, writer: _Writer) -> None:
        for status in writer.messages():
            self._status |= status
            if "parent" in status:
                self._note_place()
            if "failed" in status:
                self._problem(status["failed"])
            if "refused" in status:  # another one would be refused as well
                self._num_starts = _MAX_STARTS
                self._problem(status["refused"])

    def _note_place(self) -> None:
        """Write what shows the run, for the report; without the file it has no link."""
        lines = how_to_open(self._uri, self._status["experiment"], self._status["parent"])
        if lines != self._shown_by:
            with suppress(OSError):
                text = "\n".join(lines) + "\n"
                replace_file(self._run_dir / RunFile.MLFLOW, lambda path: path.write_text(text))
            self._shown_by = lines

    def _problem(self, what: str) -> None:
        self._failure = what
        if self._say_once is not None:
            self._say_once(
                f"MLflow: {what}. The sweep goes on; MLflow is brought up to date as soon as it "
                f"answers (details in {self._run_dir / LOG_NAME})"
            )
            self._say_once = None

    def _last_lines(self) -> list[str]:
        if self._status.get("done"):
            heads = ("MLflow:      ", " " * 13)
            return list(map("".join, zip(heads, self._shown_by, strict=False)))
        where = shown(self._uri)
        why = self._failure.removeprefix(f"{where}: ")
        return [
            f"MLflow at {where} is incomplete ({why}); nothing is lost: "
            f"--resume {self._run_dir} completes it"
        ]


class _Writer:
    """The process that writes."""

    def __init__(self, run_dir: Path, uri: str, experiment: str) -> None:
        """Start the process.

        Raises:
            OSError: The system does not let it start.
        """
        paths = [*package_path(), os.environ.get("PYTHONPATH", "")]
        # The URI is no argument: it may hold a password.
        path = os.pathsep.join(filter(None, paths))
        environment = {**os.environ, "PYTHONPATH": path, "MLFLOW_TRACKING_URI": uri}
        # -P: a module in the current folder must not hide an installed one.
        command = [sys.executable, "-P", "-m", "orchestrator.tracking.mlflow", str(run_dir)]
        with open_to_append(run_dir / LOG_NAME) as log:
            self._process = subprocess.Popen(
                [*command, "--experiment", experiment, "--follow"],
                # A command must not wait in a buffer, and an answer is to be read without waiting.
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is the driver's to handle
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        # The control loop reads it between two trials' reports, and waits for nothing.
        os.set_blocking(self._stdout.fileno(), False)
        self._unread = b""

    @property
    def returncode(self) -> int | None:
        """Return its exit status, None while it lives."""
        return self._process.poll()

    def send(self, command: str) -> bool:
        """Send a command; return False if the process has died."""
        try:
            self._stdin.write(f"{command}\n".encode())
        except BrokenPipeError:
            return False
        return True

    def messages(self) -> Iterator[dict[str, Any]]:
        """Return its messages since the last time; do not wait."""
        # None where there is nothing; and a line may come in two parts.
        self._unread += self._stdout.read() or b""
        *lines, self._unread = self._unread.split(b"\n")
        return (json.loads(line) for line in lines)

    def stop(self) -> None:
        """End it at once; what it has reported as done is done."""
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()
