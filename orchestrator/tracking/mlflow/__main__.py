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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from orchestrator.arguments import Parser
from orchestrator.errors import SweepError, refusing_os_errors
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.system.lifeline import leave_to_driver
from orchestrator.tracking.mlflow.driver import LOCK_NAME
from orchestrator.tracking.mlflow.follow import Follower
from orchestrator.tracking.mlflow.uris import checked_uri, how_to_open

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
