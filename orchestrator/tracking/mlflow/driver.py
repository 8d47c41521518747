"""The driver's side of the mirror: a process started, listened to and told to finish."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from orchestrator.journal import Event
from orchestrator.tracking.mlflow.places import (
    checked_uri,
    how_to_open,
    without_password,
)

LOG_NAME = "mlflow.log"

_ROOT = Path(__file__).resolve().parents[3]
_MAX_STARTS = 4


class MlflowMirror:
    """Tells MLflow of a sweep; a :class:`~orchestrator.tracking.base.Tracker`.

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
        """Starts nothing before the first event.

        Args:
            run_dir: The run directory; the journal is there.
            uri: MLflow's tracking URI.
            experiment: MLflow's experiment. Default: the sweep's name.
            say: Takes a line that the user should read, at most once a run.
            bound_s: How long :meth:`close` may take.

        Raises:
            SweepError: ``uri`` is none that MLflow's run tables can be at.
        """
        self._run_dir = run_dir.absolute()
        self._uri = checked_uri(uri)
        self._experiment = experiment
        self._say_once: Callable[[str], None] | None = say
        self._bound_s = bound_s
        self._process: subprocess.Popen[bytes] | None = None
        self._num_starts = 0
        self._unread = b""
        self._failure = ""
        self._done = False
        self._experiment_id, self._parent_id = "", ""

    def on_event(self, event: Event) -> None:
        """Starts the writer; it reads the journal by itself."""
        if self._process is None and event["event"] in ("sweep", "resumed"):
            self._start()

    def tick(self) -> None:
        """Hears what the writer has to say, and starts another if it has died."""
        if self._process is None:
            return
        self._listen()
        if self._process.poll() is not None:
            self._problem(f"its writer died with {self._process.returncode}")
            self._start()

    def close(self, exit_code: int) -> list[str]:
        """Lets the writer finish, for a bounded time; returns where to look."""
        if self._process is None:
            return []
        deadline = time.monotonic() + self._bound_s
        self.tick()
        self._tell(f"finish {exit_code}\n")
        while not self._done and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
            self._listen()
        self._listen()
        self._stop()
        return self._last_lines()

    def _start(self) -> None:
        if self._num_starts == _MAX_STARTS:
            return
        self._num_starts += 1
        command = [sys.executable, "-m", "orchestrator.tracking.mlflow", str(self._run_dir)]
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "MLFLOW_TRACKING_URI": self._uri,  # not an argument: it may hold a password
        }
        try:
            with (self._run_dir / LOG_NAME).open("ab") as log:
                self._process = subprocess.Popen(
                    [*command, "--experiment", self._experiment, "--follow"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    start_new_session=True,  # Ctrl-C is the driver's to handle
                )
        except OSError as error:
            self._problem(f"its writer cannot be started: {error}")
            return
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._unread = b""

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._unread += self._process.stdout.read() or b""
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            status = json.loads(line)
            self._experiment_id = status.get("experiment") or self._experiment_id
            self._parent_id = status.get("parent") or self._parent_id
            self._done = self._done or status.get("done", False)
            if "failed" in status:
                self._problem(status["failed"])

    def _problem(self, what: str) -> None:
        self._failure = what
        if self._say_once is not None:
            self._say_once(
                f"MLflow: {what}. The sweep goes on; MLflow is brought up to date as soon as it "
                f"answers ({self._run_dir / LOG_NAME})"
            )
            self._say_once = None

    def _tell(self, command: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            self._problem("its writer has died")

    def _stop(self) -> None:
        """Ends the writer: at once if it is done or its time is over."""
        assert self._process is not None
        if not self._done and self._process.poll() is None:
            self._failure = self._failure or f"not finished within {self._bound_s:g} s"
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _last_lines(self) -> list[str]:
        if self._done:
            return [f"MLflow: {how_to_open(self._uri, self._experiment_id, self._parent_id)}"]
        return [
            f"MLflow at {without_password(self._uri)} is incomplete ({self._failure}); nothing is "
            f"lost: --resume {self._run_dir} completes it"
        ]
