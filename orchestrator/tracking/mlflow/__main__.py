"""The process that writes MLflow: ``python -m orchestrator.tracking.mlflow RUN_DIR``.

By hand it brings MLflow up to date with the run's journal, once. With ``--follow`` a driver
has started it and sends commands on standard input; its end means that the driver is
dead. Standard output has one JSON object a line for the driver: ``{"failed": text}`` for each
failure, and ``{"done": true}`` when everything is written.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from orchestrator.arguments import Parser
from orchestrator.errors import SweepError, refusing_os_errors
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.system.cgroup import without_collecting
from orchestrator.system.lifeline import leave_to_driver
from orchestrator.tracking.mlflow.driver import LOCK_NAME
from orchestrator.tracking.mlflow.uris import (
    checked_uri,
    how_to_open,
    reason_of,
    shown,
    without_secrets,
)

if TYPE_CHECKING:
    from orchestrator.tracking.mlflow.mirror import Mirror

_ENVIRONMENT: Final[Mapping[str, str]] = {
    # No word to anyone but the tracking URI.
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    # A request that MLflow repeated could create a second run.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    # What is written is there when the call returns.
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    # Threads of numerical libraries would take the trials' cores.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment of this process, whatever the user set."""
_DEFAULTS: Final[Mapping[str, str]] = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""Its environment where the user set nothing."""

_PERIOD_S: Final = 2.0
"""Time between two reads of the journal. Longer means fewer and larger writes."""
_LONGEST_PAUSE_S: Final = 30.0
_NUM_LAST_TRIES: Final = 4
"""Tries after which the end of a run waits no longer."""


class Follower:
    """Runs the mirror: at low priority while trials run, and then to the end."""

    def __init__(
        self, run_dir: Path, uri: str, experiment: str, report: Callable[[Mapping[str, Any]], None]
    ) -> None:
        """Connect to nothing yet.

        Args:
            run_dir: The run directory.
            uri: MLflow's tracking URI.
            experiment: MLflow's experiment, or empty for the sweep's name.
            report: Takes ``{"failed": text}`` for each failure and at the end ``{"done": True}``
                with the ids of ``experiment`` and ``parent``.
        """
        self._run_dir = run_dir
        self._uri = uri
        self._experiment = experiment
        self._report = report
        self._mirror: Mirror | None = None
        self._num_failures = 0
        self._finishing = threading.Event()

    def follow(self, commands: TextIO) -> int:
        """Obey ``commands`` while the journal grows; return as :meth:`finish`.

        ``yield``: trials run now, take no time from them. ``finish EXIT_CODE``: they have
        ended; write what is missing. The end of ``commands``: the driver is dead.
        """
        # A separate thread: without privileges its low priority cannot be taken back, and the
        # end of a run is to be written at full speed.
        thread = threading.Thread(target=self._keep_up, daemon=True)
        thread.start()
        for line in commands:
            command, *arguments = line.split()
            if command == "finish":
                _set_priority(thread.native_id or 0, low=False)
                self._finishing.set()
                thread.join()  # the mirror has no lock
                return self.finish(int(arguments[0]))
            _set_priority(thread.native_id or 0, low=True)
        os._exit(1)  # resuming the run completes MLflow

    def _keep_up(self) -> None:
        while not self._finishing.is_set():
            good = self._attempt(lambda mirror: mirror.catch_up())
            pause_s = min(2.0**self._num_failures, _LONGEST_PAUSE_S)
            self._finishing.wait(_PERIOD_S if good else pause_s)

    def finish(self, exit_code: int | None) -> int:
        """Write what is missing; return 0 if nothing is missing any more."""
        for number in range(_NUM_LAST_TRIES):
            if number:
                time.sleep(2.0 ** (number - 1))
            if self._attempt(lambda mirror: mirror.finish(exit_code)):
                assert self._mirror is not None
                experiment, parent = self._mirror.ids
                self._report({"done": True, "experiment": experiment, "parent": parent})
                return 0
        return 1

    def _attempt(self, action: Callable[[Mirror], None]) -> bool:
        try:
            if self._mirror is None:
                self._mirror = _new_mirror(self._run_dir, self._uri, self._experiment)
            action(self._mirror)
        except Exception as error:  # noqa: BLE001 - MLflow raises anything; no sweep fails for it
            trace = "".join(traceback.format_exception(error))
            sys.stderr.write(without_secrets(trace, self._uri))
            if self._mirror is not None:
                # A request that failed may have been carried out.
                self._mirror.forget()
            self._num_failures += 1
            reason = f"{type(error).__name__}: {reason_of(error, self._uri)}"
            self._report({"failed": f"{shown(self._uri)}: {reason}"})
            return False
        self._num_failures = 0
        return True


def _set_priority(thread: int, *, low: bool) -> None:
    """Make a thread of this process yield to all others, or take that back where permitted.

    ``SCHED_IDLE`` gives a thread only the time that no other wants. A kernel that groups
    processes by session (autogroup, the default) counts it within the session: with a busy trial
    an idle process in a separate session took half a core, and none once its group was nice too.
    """
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("19" if low else "0")
    with suppress(OSError):
        policy = os.SCHED_IDLE if low else os.SCHED_OTHER
        os.sched_setscheduler(thread, policy, os.sched_param(0))


def _new_mirror(run_dir: Path, uri: str, experiment: str) -> Mirror:
    # MLflow logs runs without these (its package mlflow-skinny does not even require them).
    for name in ("pandas", "numpy"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    with without_collecting():
        from orchestrator.tracking.mlflow.mirror import Mirror

    return Mirror(run_dir, uri, experiment)


def main() -> int:
    """Write a run to MLflow; return 0 if MLflow then has all of it."""
    arguments = _parser().parse_args()
    os.environ.update({**_DEFAULTS, **os.environ, **_ENVIRONMENT})
    run_dir: Path = arguments.run_dir.absolute()
    try:
        uri = checked_uri(arguments.uri)
        if not arguments.follow:
            read_sweep(run_dir)
        with refusing_os_errors():
            lock = _locked(run_dir)
    except SweepError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    with lock:
        if arguments.follow:
            leave_to_driver()
            return Follower(run_dir, uri, arguments.experiment, _to_driver()).follow(sys.stdin)
        return Follower(run_dir, uri, arguments.experiment, _to_user(uri)).finish(None)


def _locked(run_dir: Path) -> TextIO:
    """Return the run's lock, taken: a second writer would make every run twice."""
    lock = (run_dir / LOCK_NAME).open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.stderr.write(f"{run_dir}: waiting for another process that writes it to MLflow\n")
        sys.stderr.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _to_driver() -> Callable[[Mapping[str, Any]], None]:
    """Return a writer of JSON to standard output, which nothing else reaches from here on."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # MLflow prints addresses of runs

    def write(status: Mapping[str, Any]) -> None:
        output.write(json.dumps(status) + "\n")
        output.flush()

    return write


def _to_user(uri: str) -> Callable[[Mapping[str, Any]], None]:
    def write(status: Mapping[str, Any]) -> None:
        if status.get("done"):
            where = ", ".join(how_to_open(uri, status["experiment"], status["parent"]))
            sys.stdout.write(f"MLflow has all of the run: {where}\n")
        else:
            sys.stderr.write(f"{status['failed']}\n")

    return write


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m orchestrator.tracking.mlflow",
        description="Bring MLflow up to date with a run's journal.",
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    parser.add_argument(
        "--uri",
        default=os.environ.get("MLFLOW_TRACKING_URI"),
        required="MLFLOW_TRACKING_URI" not in os.environ,
        help="MLflow's tracking URI (default: $MLFLOW_TRACKING_URI)",
    )
    parser.add_argument("--experiment", default="", help="default: the sweep's name")
    parser.add_argument("--follow", action="store_true", help="continue while a sweep runs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
