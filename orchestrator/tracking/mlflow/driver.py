"""The driver's side of the mirror: it starts the writer's process, reads its messages, ends it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.kernel.events import Event, Opened, Started
from orchestrator.kernel.parts import Fold
from orchestrator.storage.files import RunFile, replace_file, rest_of
from orchestrator.system.import_path import environment_with, package_path
from orchestrator.tracking.mlflow.uris import checked_uri, how_to_open, shown

LOG_NAME = "mlflow.log"


class MlflowMirror(Fold):
    """A sweep in MLflow, written by another process.

    The driver itself neither imports MLflow nor waits for it before :meth:`close`. Nothing is
    started before the first event.

    Args:
        run_dir: The run directory; the journal is there.
        uri: MLflow's tracking URI.
        experiment: MLflow's experiment. Default: the sweep's name.
        say: Receives a line that the user should read; called at most once.
        bound_s: Longest duration of :meth:`close`.

    Raises:
        SweepError: MLflow's run tables cannot be at ``uri``.
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
        self._run_dir = run_dir.absolute()
        self._uri = checked_uri(uri)
        self._experiment = experiment
        self._say = say
        self._bound_s = bound_s
        self._writer: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._trials_run = False
        self._failure = ""
        self._status: dict[str, Any] = {}

    def apply(self, event: Event) -> None:
        """Start the writer, which reads the journal itself, and have it yield to trials."""
        match event:
            case Opened() if self._writer is None:
                self._start()
            case Started() if self._writer is not None and not self._trials_run:
                self._trials_run = True
                self._send("yield")

    def tick(self) -> None:
        """Read the writer's messages; do not wait for any."""
        if self._writer is None:
            return
        assert self._writer.stdout is not None
        # None where there is nothing; and a line may come in two parts.
        self._unread += self._writer.stdout.read() or b""
        *lines, self._unread = self._unread.split(b"\n")
        for status in map(json.loads, lines):
            self._status |= status
            if "failed" in status:
                self._problem(status["failed"])

    def close(self, exit_code: int) -> list[str]:
        """Let the writer finish, for a bounded time; return the lines that show where to look."""
        deadline = time.monotonic() + self._bound_s
        self.tick()
        if self._writer is not None and self._writer.poll() is not None:
            self._stop()
            self._start()  # it was killed: another one finishes
        if self._writer is None:
            return [self._incomplete()] if self._failure else []
        self._send(f"finish {exit_code}")
        code = None
        while code is None and not self._status.get("done") and time.monotonic() < deadline:
            time.sleep(0.02)
            code = self._writer.poll()
            self.tick()
        self._stop()
        if self._status.get("done"):
            return self._shown_by()
        late = f"not finished within {self._bound_s:g} s"
        self._failure = self._failure or (late if code is None else f"its writer ended with {code}")
        return [self._incomplete()]

    # -- the process that writes

    def _start(self) -> None:
        # The URI is no argument: it may contain a password.
        environment = environment_with(*package_path()) | {"MLFLOW_TRACKING_URI": self._uri}
        # -P: a module in the current folder must not hide an installed one.
        command = [sys.executable, "-P", "-m", "orchestrator.tracking.mlflow", str(self._run_dir)]
        try:
            with (self._run_dir / LOG_NAME).open("ab") as log:
                self._writer = subprocess.Popen(
                    [*command, self._experiment],
                    # A command must not wait in a buffer, and messages are read without waiting.
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    start_new_session=True,  # Ctrl-C is the driver's to handle
                )
        except OSError as error:
            self._problem(f"its writer cannot be started: {error}")
            return
        assert self._writer.stdout is not None
        os.set_blocking(self._writer.stdout.fileno(), False)

    def _send(self, command: str) -> None:
        """Send a command; nothing happens where the process has died."""
        assert self._writer is not None
        assert self._writer.stdin is not None
        with suppress(BrokenPipeError):
            self._writer.stdin.write(f"{command}\n".encode())

    def _stop(self) -> None:
        """End the process at once; what it has reported as done is done."""
        assert self._writer is not None
        with self._writer:
            self._writer.kill()
        self._writer, self._unread = None, b""

    # -- lines for the user

    def _shown_by(self) -> list[str]:
        """Return what shows the run, and write it for the report."""
        lines = how_to_open(self._uri, self._status["experiment"], self._status["parent"])
        text = "\n".join(lines) + "\n"
        with suppress(OSError):  # without the file the report has no link
            replace_file(self._run_dir / RunFile.MLFLOW, lambda path: path.write_text(text))
        return list(map("".join, zip(("MLflow:      ", " " * 13), lines, strict=False)))

    def _problem(self, what: str) -> None:
        if not self._failure:
            self._say(
                f"MLflow: {what}. The sweep continues; MLflow is brought up to date as soon as it "
                f"answers (details in {self._run_dir / LOG_NAME})"
            )
        self._failure = what

    def _incomplete(self) -> str:
        where = shown(self._uri)
        why = self._failure.removeprefix(f"{where}: ")
        return (
            f"MLflow at {where} is incomplete ({why}); nothing is lost: "
            f"{rest_of(self._run_dir)} completes it"
        )
