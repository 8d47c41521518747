"""The follower: keeps MLflow up with a journal that grows, and tries again when it is away."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from orchestrator.system.memory import without_collecting
from orchestrator.tracking.mlflow.uris import reason_of, shown, without_secrets

if TYPE_CHECKING:
    from orchestrator.tracking.mlflow.mirror import Mirror

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
