"""Supervisor of one trial: makes one attempt after another, and folds their rows into one.

A trial continues from the last pause of its curve, if it has one. An attempt that failed is
retried, from the trial's last checkpoint, unless it would fail the same way again
(:func:`~orchestrator.execution.process.failures.may_end_otherwise`). A run that completed on
contaminated cores is run again, once, from where it began, unless the launch disables that. If
its supervisor has died as well, the next one continues from the last checkpoint too.
"""

import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from orchestrator.execution.leases import Lease
from orchestrator.execution.process.fork_client import NotForked, ServerError, output_of
from orchestrator.execution.supervision.attempt import Attempt, Host
from orchestrator.execution.supervision.attempt_monitor import Progress
from orchestrator.execution.supervision.endings import merge_rerun, rerun_tag
from orchestrator.execution.supervision.paused import forget, keep, last_pause, put_by, take_up
from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Launch, SliceEnd, Update
from orchestrator.texts import first_line
from orchestrator.trial import TrialResult, TrialState

FORK_AGAIN_S = 0.5
"""Wait before the next try of a fork: a node without memory or processes may have some then."""

Event = Update | Started | SliceEnd | TrialResult


class Supervisor:
    """Runs one trial to its one row.

    Attributes:
        trial: The trial.
        progress: Progress at the end of its last time slice, as a fraction of its budget.
    """

    def __init__(self, launch: Launch, host: Host) -> None:
        """Prepare to run ``launch`` on ``host``; nothing is started yet."""
        self.trial, self.progress = launch.trial, 0.0
        self._launch, self._host = launch, host
        self._lease: Lease | None = None
        self._attempt: Attempt | None = None
        self._num_attempts = launch.failed_attempts
        self._num_retries = 0
        self._first_run: TrialResult | None = None  # of two, the first being contaminated
        self._is_announced = False
        self._events: list[Event] = []

    @property
    def has_started(self) -> bool:
        """True once the trial's processes have been started."""
        return self._attempt is not None

    def start(self, lease: Lease) -> None:
        """Start every rank of the trial on the cores of ``lease``, which the caller keeps.

        Raises:
            ServerError: The fork server did not come up.
            LookupError: The trial's allocator is not installed.
        """
        self._lease = lease
        if self._launch.failed_attempts and self._launch.checkpoints.is_dir():
            self._start_attempt(Progress(earlier_epochs=last_pause(self._launch)))
        else:
            self._start_run()

    def next_events(self, timeout_s: float) -> list[Event]:
        """Wait for a start, a report, the end of the time slice, or the trial's row.

        The trial trains on meanwhile: what the caller does with a report costs it nothing.

        Returns:
            Nothing where nothing came in time.
        """
        if not self._events:
            self._follow(timeout_s)
        taken, self._events = self._events, []
        return taken

    def begin_slice(self) -> None:
        """Begin the next time slice of a trial that was paused at the end of its last one."""
        self._current.begin_slice()

    def stop(self) -> None:
        """End the trial: it may leave its loop at its next report, if that comes soon."""
        self._current.stop()
        self.close()

    def close(self) -> None:
        """Kill what still runs; remove its files. Safe to call more than once."""
        if self._attempt is not None:
            self._attempt.close()
        self._remove_files()

    # -- from attempts to one row

    def _follow(self, timeout_s: float) -> None:
        attempt = self._current
        event: Event | None = attempt.next_event(timeout_s)
        if isinstance(event, TrialResult):
            event = self._fold(event)
        # If the event has started another attempt, that attempt has no figures yet.
        if not self._is_announced and attempt is self._attempt:
            # An attempt that continues is announced with its first figures: only they show what
            # was restored, and so which reports before it are void. Without any, these stay valid.
            restored_epochs = attempt.restored_epochs
            if restored_epochs is None and isinstance(event, TrialResult):
                restored_epochs = attempt.progress.last.epoch if attempt.progress.last else 0
            if restored_epochs is not None:
                self._announce(restored_epochs)
        self._events += [] if event is None else [event]

    def _announce(self, restored_epochs: int) -> None:
        start = Started(
            trial_id=self.trial.id,
            node=platform.node(),
            cores=self._launch.num_cores * self._launch.demand.nodes,
            restored_epochs=restored_epochs,
        )
        self._events.append(start)
        self._is_announced = True

    def _fold(self, row: TrialResult) -> Event | None:
        """Return the trial's row, or start another attempt."""
        has_retries = self._num_retries < self._launch.retries
        may_retry = has_retries and self._current.may_end_otherwise
        if row.state is TrialState.FAILED and may_retry:
            self._num_retries += 1
            start = partial(self._start_attempt, self._current.progress)
            if self._again(start, "tried again, since it failed", row.reason):
                return None
        is_first = row.state is TrialState.COMPLETED and self._first_run is None
        may_rerun = is_first and self._launch.rerun
        if row.disturbed and may_rerun:
            self._current.close()  # its cores are to be free, its checkpoints no longer written
            self._first_run = row
            action = "run again, since other load contaminated it"
            if self._again(self._start_run, action, row.disturbed):
                return None
            self._first_run = None
        if row.state is TrialState.STOPPED and row.reason:  # it is paused, not stopped
            self._tried(put_by, "paused without a checkpoint, since it cannot be kept")
        elif row.state is TrialState.COMPLETED:
            forget(self._launch)
            self._tried(keep, "completed, and its checkpoint cannot be kept")
        if row.state in (TrialState.FAILED, TrialState.INFEASIBLE):
            self._remove_files()  # before its row is known: others may have no room
        row = merge_rerun(self._first_run, row)
        return replace(row, output=output_of(self._launch.log))

    def _tried(self, act: Callable[[Launch], int | None], otherwise: str) -> int:
        """Move a checkpoint; note if that is not possible. Either way the trial's row is right.

        Returns:
            The result of ``act``; 0 without it.
        """
        try:
            return act(self._launch) or 0
        except OSError as error:
            self._note(otherwise, str(error))
            return 0

    def _again(self, start: Callable[[], None], action: str, reason: str) -> bool:
        """Start another attempt, and note it; return False where it cannot start."""
        try:
            start()
        except (ServerError, LookupError, OSError):
            return False
        self._note(action, reason)
        return True

    def _start_run(self) -> None:
        """Start an attempt that finds only the checkpoint of its curve's last pause."""
        self._remove_files()
        beginning = "trained from the beginning, since its curve's checkpoint cannot be read"
        earlier_epochs = self._tried(partial(take_up, note=self._note), beginning)
        self._start_attempt(Progress(earlier_epochs=earlier_epochs))
        self._announce(0)

    def _start_attempt(self, progress: Progress) -> None:
        assert self._lease is not None, "a trial is started on a lease"
        self._attempt = self._forked(self._lease, progress)
        self._is_announced = False
        # Only an attempt that has started counts.
        self._num_attempts += 1

    def _forked(self, lease: Lease, progress: Progress) -> Attempt:
        """Start an attempt; if its server dies just then, or cannot fork, try again."""
        tags = {**rerun_tag(self._first_run), "attempts": str(self._num_attempts + 1)}
        while True:
            try:
                return Attempt(self._launch, lease, self._host, progress, tags)
            except NotForked as error:
                if self._num_retries >= self._launch.retries:
                    raise
                self._num_retries += 1
                self._note("tried again, since it could not be started", str(error))
            time.sleep(FORK_AGAIN_S)

    # -- the pieces

    @property
    def _current(self) -> Attempt:
        assert self._attempt is not None, "it has been started"
        return self._attempt

    def _note(self, action: str, reason: str) -> None:
        self._host.notes.append(f"trial {self.trial.id[:6]} is {action}: {first_line(reason)}")

    def _remove_files(self) -> None:
        for folder in (self._launch.checkpoints, self._launch.temporary):
            shutil.rmtree(folder, ignore_errors=True)
