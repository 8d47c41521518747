"""The follower: keeps MLflow up with a journal that grows, and tries again when it is away."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from orchestrator.storage.files import RunFile
from orchestrator.system.imports import without_collecting
from orchestrator.tracking.mlflow.places import artifact_root
from orchestrator.tracking.mlflow.priority import lower, restore
from orchestrator.tracking.mlflow.secrets import Redaction
from orchestrator.tracking.mlflow.uris import shown

if TYPE_CHECKING:
    from orchestrator.tracking.mlflow.mirror import Mirror

_CAUSE = re.compile(r"\(Caused by (.*)\)$")
_PERIOD_S = 2.0
"""Time between two reads of the journal. Longer means fewer and larger writes."""
_LONGEST_PAUSE_S = 30.0
_NUM_LAST_TRIES = 4
"""Tries in a row without progress after which the end of a run waits no longer."""


class Follower:
    """A driver of the mirror: at low priority while trials run, at full speed at the end."""

    def __init__(
        self, run_dir: Path, uri: str, experiment: str, say: Callable[[Mapping[str, Any]], None]
    ) -> None:
        """Connect to nothing yet.

        Args:
            run_dir: The run directory.
            uri: MLflow's tracking URI.
            experiment: MLflow's experiment, or empty for the sweep's name.
            say: Takes ``{"failed": text}`` for each failure and ``{"done": True}`` at the
                end, either with the ids of ``experiment`` and ``parent`` as far as known.
        """
        self._run_dir = run_dir
        self._uri = uri
        self._redacted = Redaction(uri)
        self._experiment = experiment
        self._say_to = say
        self._mirror: Mirror | None = None
        self._num_failures = 0
        self._finishing = threading.Event()
        self._exit_code: int | None = None

    def once(self) -> int:
        """Write what is missing; return 0 if nothing is missing any more."""
        return self._finish()

    def follow(self, commands: TextIO) -> NoReturn:
        """Obey ``commands`` while the journal grows, then end the process.

        ``yield``: trials run now, take no time from them. ``finish EXIT_CODE``: they have
        ended; write what is missing. The end of ``commands``: the driver is dead.
        """
        # A thread of its own: without privileges its low priority cannot be taken back, and the
        # end of a run is to be written at full speed.
        beside = threading.Thread(target=self._keep_up, daemon=True)
        beside.start()
        thread = beside.native_id or 0
        threading.Thread(target=self._obey, args=(commands, thread), daemon=True).start()
        self._finishing.wait()
        # The mirror has no lock: one thread uses it at a time.
        beside.join()
        os._exit(self._finish())  # the thread that reads the commands cannot be joined

    def _obey(self, commands: TextIO, thread: int) -> None:
        for line in commands:
            command, *arguments = line.split()
            if command == "yield":
                lower(thread)
            else:
                restore(thread)
                self._exit_code = int(arguments[0])
                self._finishing.set()
        os._exit(1)  # whoever resumes the run completes MLflow

    def _keep_up(self) -> None:
        while not self._finishing.is_set():
            good = self._attempt(lambda mirror: mirror.catch_up())
            pause_s = min(2.0**self._num_failures, _LONGEST_PAUSE_S)
            self._finishing.wait(_PERIOD_S if good else pause_s)

    def _finish(self) -> int:
        tries, written = 0, self._num_written()
        while tries < _NUM_LAST_TRIES:
            if self._attempt(lambda mirror: mirror.finish(self._exit_code)):
                self._say(done=True)
                return 0
            tries = tries + 1 if self._num_written() == written else 1
            written = self._num_written()
            if tries < _NUM_LAST_TRIES:
                time.sleep(2.0 ** (tries - 1))
        return 1

    def _attempt(self, action: Callable[[Mirror], None]) -> bool:
        try:
            action(self._ready_mirror())
        except Exception as error:  # noqa: BLE001 - MLflow raises anything; no sweep fails for it
            self._failed(error)
            return False
        self._num_failures = 0
        return True

    def _ready_mirror(self) -> Mirror:
        if self._mirror is None:
            self._mirror = _new_mirror(self._run_dir, self._uri, self._experiment)
        return self._mirror

    def _failed(self, error: Exception) -> None:
        sys.stderr.write(self._redacted("".join(traceback.format_exception(error))))
        if self._mirror is not None:
            # A request that failed may have been carried out: what MLflow has is asked for again.
            self._mirror.forget()
        self._num_failures += 1
        message = self._redacted(str(error).strip()) or "no message"
        first = message.splitlines()[0]
        cause = _CAUSE.search(first)  # of a request that went to no server it is at the very end
        reason = (cause[1] if cause else first)[:200]
        self._say(failed=f"{shown(self._uri)}: {type(error).__name__}: {reason}")

    def _num_written(self) -> int:
        return 0 if self._mirror is None else self._mirror.num_written

    def _say(self, **status: object) -> None:
        if self._mirror is not None:
            status |= {"experiment": self._mirror.experiment_id, "parent": self._mirror.parent_id}
        self._say_to(status)


def _new_mirror(run_dir: Path, uri: str, experiment: str) -> Mirror:
    # MLflow logs runs without these (its package mlflow-skinny does not even require them).
    for name in ("pandas", "numpy"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    with without_collecting():
        from orchestrator.tracking.mlflow.mirror import Mirror
        from orchestrator.tracking.mlflow.store import Target

    root = artifact_root(uri, run_dir)
    target = Target(uri=uri, experiment=experiment, artifact_root=root)
    return Mirror(run_dir, run_dir / RunFile.JOURNAL, target)
