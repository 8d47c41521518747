"""The sweep's own trackers: called in a thread, so that a slow one delays no trial."""

import json
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Final

from orchestrator.kernel.events import Event, Finished, Judged, Reported
from orchestrator.kernel.parts import Fold, Tracker
from orchestrator.locations import place, short
from orchestrator.storage.files import RunFile, replace_file, rest_of
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.texts import described
from orchestrator.trial import TrialState

CLOSE_S: Final = 30.0
"""Longest wait for trackers at the end; ``--resume`` has them continue."""


class Trackers(Fold):
    """The trackers of a sweep.

    ``trackers.json`` has the number of calls that each has had. Calls are numbered in the order
    of the journal, so a resumed run continues where an earlier process ended.

    Args:
        trackers: The trackers.
        run_dir: The run directory.
        past: Events of earlier processes.
        say: Takes a line that the user should read.
    """

    def __init__(
        self,
        trackers: Sequence[Tracker],
        run_dir: Path,
        past: Sequence[Event] = (),
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._say, self._completes = say, f"{rest_of(short(run_dir))} completes it"
        self._file = run_dir / RunFile.TRACKERS
        self._trackers: dict[str, Tracker] = {}
        for tracker in trackers:
            name = type(tracker).__name__
            number = sum(type(each).__name__ == name for each in self._trackers.values())
            self._trackers[name if not number else f"{name} {number + 1}"] = tracker
            object.__setattr__(tracker, "run_dir", run_dir.absolute())
        self._done = dict.fromkeys(self._trackers, 0)
        if self._file.exists():
            self._done |= json.loads(self._file.read_bytes())
        self._number = 0
        self._failures = SimpleQueue[str]()
        self._events = SimpleQueue[Event | None]()
        for event in past:
            self._events.put(event)
        self._thread: Thread | None = None

    def apply(self, event: Event) -> None:
        """Hand an event to the thread, which starts with the first one."""
        self._events.put(event)
        if self._thread is None:
            self._thread = Thread(target=self._follow, daemon=True)
            self._thread.start()

    def tick(self) -> None:
        """Note the trackers that have failed."""
        while not self._failures.empty():
            self._say(self._failures.get())

    def close(self) -> list[str]:
        """Wait for the trackers, at most :data:`CLOSE_S`; return what the user should read."""
        if self._thread is None:
            return []
        self._events.put(None)
        self._thread.join(CLOSE_S)
        lines = [self._failures.get() for _ in range(self._failures.qsize())]
        if self._thread.is_alive():
            names = ", ".join(self._trackers)
            lines.append(f"{names}: not done within {CLOSE_S:g} s; {self._completes}")
        return lines

    # -- the thread

    def _follow(self) -> None:
        history = SweepHistory()
        for event in iter(self._events.get, None):
            trial = history.apply(event)
            if trial is not None and isinstance(event, Reported | Finished | Judged):
                self._number += 1
                for name in list(self._trackers):
                    if self._done[name] < self._number:
                        self._call(name, trial, event)

    def _call(self, name: str, trial: TrialHistory, event: Reported | Finished | Judged) -> None:
        """Call a tracker, and count the call; take the tracker out where it raises."""
        tracker = self._trackers[name]
        try:
            if isinstance(event, Reported):
                tracker.report(trial.trial, event.report)
            elif event.result.state is not TrialState.NOT_RUN:
                result = replace(event.result, metrics=trial.figures(), blocks=(), output="")
                tracker.finish(trial.trial, result, [each for _, each in trial.reports])
            self._done[name] = self._number
            text = json.dumps(self._done)
            replace_file(self._file, lambda path: path.write_text(text))
        except BaseException as error:  # noqa: BLE001 - a tracker may raise anything, and end itself
            del self._trackers[name]
            frames = traceback.extract_tb(error.__traceback__)[1:2]
            where = "".join(f" ({place(each.filename, each.lineno)})" for each in frames)
            self._failures.put(
                f"tracker {name} is off: {described(error)}{where}; {self._completes}"
            )
