"""The process that writes MLflow: ``python -m orchestrator.tracking.mlflow RUN_DIR``.

By hand it brings MLflow to what the run's journal says, once. With ``--follow`` a driver
has started it and says on standard input what to do; its end means that the driver is
dead. Standard output has one JSON object a line for the driver:
``{"failed": text}`` for each failure and ``{"done": true}`` when everything is written.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from pathlib import Path

from orchestrator.errors import SweepError
from orchestrator.tracking.mlflow.follow import Follower
from orchestrator.tracking.mlflow.places import DEFAULTS, ENVIRONMENT, checked_uri

LOCK_NAME = ".mlflow.lock"


def main() -> int:
    """Writes a run to MLflow; returns 0 if MLflow then has all of it."""
    arguments = _parser().parse_args()
    os.environ.update({**DEFAULTS, **os.environ, **ENVIRONMENT})
    try:
        uri = checked_uri(arguments.uri)
    except SweepError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    run_dir: Path = arguments.run_dir.absolute()
    with (run_dir / LOCK_NAME).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second writer would make every run twice
        follower = Follower(run_dir, uri, arguments.experiment, sys.stdout)
        if arguments.follow:
            follower.follow(sys.stdin)
        return follower.once()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m orchestrator.tracking.mlflow",
        description="Bring MLflow to what a run's journal says.",
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    parser.add_argument(
        "--uri",
        default=os.environ.get("MLFLOW_TRACKING_URI"),
        required="MLFLOW_TRACKING_URI" not in os.environ,
        help="MLflow's tracking URI (default: $MLFLOW_TRACKING_URI)",
    )
    parser.add_argument("--experiment", default="", help="default: the sweep's name")
    parser.add_argument("--follow", action="store_true", help="go on while a sweep runs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
