"""The process that writes MLflow: ``python -m orchestrator.tracking.mlflow RUN_DIR EXPERIMENT``.

A driver starts it, with the tracking URI in ``MLFLOW_TRACKING_URI``, and sends commands on
standard input; its end means that the driver is dead. Standard output has one JSON object a line
for the driver: ``{"failed": text}`` for each failure, and ``{"done": true}`` when everything is
written.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from orchestrator.system.cgroup import without_collecting
from orchestrator.system.lifeline import leave_to_driver
from orchestrator.tracking.mlflow.uris import reason_of, shown, without_secrets

if TYPE_CHECKING:
    from orchestrator.tracking.mlflow.mirror import Mirror

_ENVIRONMENT: Final[Mapping[str, str]] = {
    # No word to anyone but the tracking URI.
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    # A request that MLflow repeated could create a second run.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    # A call returns once its content is written.
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


@dataclass
class Follower:
    """Runs the mirror: at low priority while trials run, and then to the end.

    Attributes:
        run_dir: The run directory.
        uri: MLflow's tracking URI.
        experiment: MLflow's experiment, or empty for the sweep's name.
        report: Takes ``{"failed": text}`` for each failure and at the end ``{"done": True}``
            with the ids of ``experiment`` and ``parent``.
    """

    run_dir: Path
    uri: str
    experiment: str
    report: Callable[[Mapping[str, Any]], None]
    _mirror: Mirror | None = None
    _num_failures: int = 0
    _finishing: threading.Event = field(default_factory=threading.Event)

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
            _set_priority(thread.native_id or 0, low=command == "yield")
            if command == "finish":
                self._finishing.set()
                thread.join()  # the mirror has no lock
                return self.finish(int(arguments[0]))
        os._exit(1)  # resuming the run completes MLflow

    def _keep_up(self) -> None:
        while not self._finishing.is_set():
            good = self._attempt(lambda mirror: mirror.catch_up())
            pause_s = min(2.0**self._num_failures, _LONGEST_PAUSE_S)
            self._finishing.wait(_PERIOD_S if good else pause_s)

    def finish(self, exit_code: int) -> int:
        """Write what is missing; return 0 if nothing is missing any more."""
        for number in range(_NUM_LAST_TRIES):
            if number:
                time.sleep(2.0 ** (number - 1))
            if self._attempt(lambda mirror: mirror.finish(exit_code)):
                assert self._mirror is not None
                experiment, parent = self._mirror.ids
                self.report({"done": True, "experiment": experiment, "parent": parent})
                return 0
        return 1

    def _attempt(self, action: Callable[[Mirror], None]) -> bool:
        try:
            if self._mirror is None:
                # MLflow logs runs without these: mlflow-skinny does not even require them.
                for name in ("pandas", "numpy"):
                    sys.modules.setdefault(name, None)  # type: ignore[arg-type]
                with without_collecting():
                    from orchestrator.tracking.mlflow.mirror import Mirror
                self._mirror = Mirror(self.run_dir, self.uri, self.experiment)
            action(self._mirror)
        except Exception as error:  # noqa: BLE001 - MLflow raises anything; no sweep fails for it
            sys.stderr.write(without_secrets(traceback.format_exc(), self.uri))
            if self._mirror is not None:
                # A request that failed may have been carried out.
                self._mirror.forget()
            self._num_failures += 1
            reason = f"{type(error).__name__}: {reason_of(error, self.uri)}"
            self.report({"failed": f"{shown(self.uri)}: {reason}"})
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


def main() -> int:
    """Write a run to MLflow; return 0 if MLflow then has all of it."""
    run_dir, experiment = sys.argv[1:]
    os.environ.update({**_DEFAULTS, **os.environ, **_ENVIRONMENT})
    leave_to_driver()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # MLflow prints addresses of runs

    def report(status: Mapping[str, Any]) -> None:
        output.write(json.dumps(status) + "\n")

    uri = os.environ["MLFLOW_TRACKING_URI"]
    return Follower(Path(run_dir), uri, experiment, report).follow(sys.stdin)


if __name__ == "__main__":
    sys.exit(main())
