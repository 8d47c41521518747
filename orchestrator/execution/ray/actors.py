"""The actor of a trial: Tune's trainable, which runs a launch."""

from threading import Thread
from typing import Any

import ray
from ray import tune

from orchestrator.execution.in_flight import Message
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.ray.nodes import ServerWay
from orchestrator.execution.ray.remote_ranks import Nodes, RanksLost
from orchestrator.kernel.executor import Launch
from orchestrator.system.cgroup import keep_from_kernel
from orchestrator.trial import TrialResult, TrialState

GATHER_S = 1.0
"""Time after a message in which reports are gathered. A message for each would take several per
cent of a core from trials that report ten times a second; a trial to be stopped trains at most
that much longer."""

KEY = "message"
"""Name of the message in a result of Tune."""


class TrialSupervisor(tune.Trainable):
    """A launch under Tune: one message a step. The actor is reused, the training is not."""

    _closing: Thread | None = None

    def setup(self, config: dict[str, Any]) -> None:
        """Take the launch from ``config``."""
        keep_from_kernel()
        self._running: Interleaving | None = None
        self._launch: Launch = config["launch"]
        self._way: ServerWay = config["way"]

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
            message = self._next_message()
        except RanksLost:
            self.cleanup()
            raise
        except (ServerError, LookupError, OSError, ray.exceptions.RayActorError) as error:
            reason = f"{type(error).__name__}: {error}"
            message = Message(result=TrialResult(state=TrialState.FAILED, reason=reason))
        if message.result is not None:
            self.cleanup()
        elif self._running is not None and self._running.has_ended:
            # In a thread: meanwhile the driver has the trial's row and chooses the next one.
            self._closing = Thread(target=self._running.close)
            self._closing.start()
            self._running = None
        return {KEY: message, "done": self._running is None}

    def _next_message(self) -> Message:
        if self._running is None:
            self._running = Interleaving(self._launch, Nodes(self._launch, self._way))
            if self._launch.failed_attempts:
                # Its start is reported with its first figures. Until then this shows it.
                return Message()
        return self._running.next_message(gather_s=GATHER_S)

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
