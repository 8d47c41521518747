"""The actor of a trial: Tune's trainable, which runs a launch, and its messages to the driver."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Thread
from typing import Any

import ray
from ray import tune

from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.ray.nodes import ServerWay
from orchestrator.execution.ray.remote_ranks import Nodes, RanksLost
from orchestrator.kernel.executor import Launch, TrialUpdate, Update
from orchestrator.system.cgroup import keep_from_kernel
from orchestrator.trial import TrialResult, TrialState

LEASE_SLICE_S = 2.0
"""An actor that waits for leased cores reports it this often."""

GATHER_S = 1.0
"""Time after a message in which reports are gathered. A message for each would take several per
cent of a core from trials that report ten times a second; a trial to be stopped trains at most
that much longer."""

KEY = "message"
"""Name of the message in a result of Tune."""


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

    def to_tune(self, *, is_last: bool = False) -> dict[str, Any]:
        """Return a result of Tune with the message; ``is_last`` ends Tune's trial."""
        return {KEY: self, "done": True} if is_last else {KEY: self}


class TrialSupervisor(tune.Trainable):
    """A launch under Tune: one message a step. The actor is reused, the training is not."""

    _closing: Thread | None = None

    def setup(self, config: dict[str, Any]) -> None:
        """Take the launch from ``config``."""
        keep_from_kernel()
        self._running: Interleaving | None = None
        self._launch: Launch = config["launch"]
        self._way: ServerWay = config["way"]
        self._sent_at = time.monotonic()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next launch into this actor; Tune would end it if this returned False."""
        self.cleanup()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Run the launch up to the next message: reports, a start, an end.

        An error would end the actor, with no row except Tune's own text.

        Raises:
            RanksLost: Another node is lost: the driver runs the launch again, on other nodes.
        """
        try:
            return self._step()
        except RanksLost:
            self.cleanup()
            raise
        except (ServerError, LookupError, OSError, ray.exceptions.RayActorError) as error:
            self.cleanup()
            result = TrialResult(state=TrialState.FAILED, reason=f"{type(error).__name__}: {error}")
            return Message(result=result).to_tune(is_last=True)

    def _step(self) -> dict[str, Any]:
        if self._running is None:
            self._host = Nodes(self._launch, self._way)
            self._running = Interleaving(self._launch, self._host)
            if self._launch.failed_attempts:
                # Its start is reported with its first figures. Until then this shows it.
                return Message().to_tune()
        if not self._running.has_cores:
            is_leased = self._running.acquire_cores(timeout_s=LEASE_SLICE_S)
            if too_late := self._launch.not_run():
                self.cleanup()
                return Message(result=too_late).to_tune(is_last=True)
            if not is_leased:
                what = CoreLeases().what_for(self._launch.num_cores)
                return Message(waiting=what).to_tune()
        message = self._next_message(self._running)
        self._sent_at = time.monotonic()
        if not self._running.has_ended:
            return message.to_tune()
        # In a thread: meanwhile the driver has the trial's row and chooses the next one.
        self._closing = Thread(target=self._running.close)
        self._closing.start()
        self._running = None
        return message.to_tune(is_last=True)

    def _next_message(self, running: Interleaving) -> Message:
        """Wait for reports until it is time for a message, or until a start or an end."""
        updates = []
        news = running.next_update()
        while news is not None:
            updates.append(news)
            left_s = self._sent_at + GATHER_S - time.monotonic()
            if left_s <= 0 or not isinstance(news[1], Update):
                break
            news = running.next_update(left_s)
        return Message(updates=tuple(updates), notes=self._host.take_notes())

    def halt(self) -> None:
        """Stop the trial early. The driver calls this between two steps."""
        if self._running is not None:
            self._running.stop()
        self.cleanup()

    def cleanup(self) -> None:
        """Leave no process, core or port behind."""
        if self._closing is not None:
            # The actor's next launch is to find the cores free.
            self._closing.join()
        if self._running is not None:
            self._running.close()
        self._running = None

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Do nothing: a trial keeps its own checkpoints."""

    def load_checkpoint(self, checkpoint: object) -> None:
        """Do nothing: see :meth:`save_checkpoint`."""
