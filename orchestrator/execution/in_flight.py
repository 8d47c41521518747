"""News of a launch, on its way from the trials to the control loop."""

import math
import time
from dataclasses import dataclass, field

from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Conductor, Launch, TrialUpdate, Update
from orchestrator.trial import Trial, TrialResult

FIRST_REPORT_S, WAIT_REPORT_S = 2.0, 20.0
"""Time after which a launch that waits for its cores is first reported, and reported again."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """News of a launch since the message before.

    Attributes:
        updates: Starts, reports and rows of its trials, oldest first.
        waiting: What the launch waits for before it can start, or empty.
        result: Row of every trial of the launch that has not ended, or None.
        notes: What the user should know of how trials run.
    """

    updates: tuple[TrialUpdate, ...] = ()
    waiting: str = ""
    result: TrialResult | None = None
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True)
class InFlight:
    """A launch that the control loop has handed out, until all of its trials have ended.

    Attributes:
        launch: The launch.
        unfinished: Its trials that have not ended, by id.
        waits_from: When it began to wait, on the monotonic clock.
        wait_reported_at: When it was last reported to be waiting, or None.
        started_at: When its first training process was started; infinite before that.
        node: Host of the last start; empty before that.
    """

    launch: Launch
    unfinished: dict[str, Trial] = field(init=False)
    waits_from: float = field(default_factory=lambda: time.monotonic())
    wait_reported_at: float | None = None
    started_at: float = math.inf
    node: str = ""

    def __post_init__(self) -> None:
        self.unfinished = {trial.id: trial for trial in self.launch.trials}

    def deliver(self, message: Message, conductor: Conductor) -> bool:
        """Pass a message to the control loop; return True if the launch is to stop.

        Interleaved trials are not stopped: a stop ends the whole launch.
        """
        for note in message.notes:
            conductor.note(note)
        wants_stop = False
        for trial, update in message.updates:
            if isinstance(update, TrialResult):
                conductor.finished(self.unfinished.pop(trial.id), update)
            elif isinstance(update, Started):
                self.node = update.node
                conductor.started(update)
            else:
                wants_stop |= conductor.reported(trial, update.report)
            self.started_at = min(self.started_at, time.monotonic())
        so_far = [update.so_far for _, update in message.updates if isinstance(update, Update)]
        is_to_stop = wants_stop and bool(self.unfinished) and not self.launch.others
        self.end(so_far[-1] if is_to_stop else message.result, conductor)
        if message.waiting and self.waits_long(FIRST_REPORT_S):
            self.report_wait(message.waiting, conductor)
        return is_to_stop

    def end(self, row: TrialResult | None, conductor: Conductor) -> None:
        """End the trials that have not ended with ``row``, if there is one."""
        while row is not None and self.unfinished:
            conductor.finished(self.unfinished.pop(next(iter(self.unfinished))), row)

    def waits_long(self, first_s: float = WAIT_REPORT_S) -> bool:
        """Return True once it has waited for ``first_s``, or long since the last report of it."""
        if self.wait_reported_at is not None:
            return time.monotonic() >= self.wait_reported_at + WAIT_REPORT_S
        return time.monotonic() >= self.waits_from + first_s

    def report_wait(self, what: str, conductor: Conductor) -> None:
        """Report that its trials wait, and what for."""
        self.wait_reported_at = time.monotonic()
        for trial in self.launch.trials:
            conductor.waiting(trial, self.wait_reported_at - self.waits_from, what)
