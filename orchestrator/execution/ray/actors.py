"""The actor of a trial: Tune's trainable, which runs a launch and reports to the driver."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import ray
from ray import tune
from ray.actor import ActorHandle

from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkedProcess, ServerError
from orchestrator.execution.process.ranks import RankProcess, request
from orchestrator.execution.ray.message import Message, Start
from orchestrator.execution.ray.node_servers import ServerWay
from orchestrator.execution.ray.remote_ranks import (
    ActorDied,
    OtherNodes,
    RanksLost,
    RemoteRank,
    gpus_of_actor,
    start_rank_actor,
)
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.kernel.executor import Launch, Rank, Started, Update
from orchestrator.system.memory import keep_from_kernel
from orchestrator.trial import Trial, TrialResult, TrialState

LEASE_SLICE_S = 2.0
"""An actor that waits for leased cores says so this often."""

GATHER_S, GATHER_MAX_S = 0.5, 5.0
"""Reports wait for one another so long after a message, at least and at most. A message for each
would take several per cent of a core from trials that report ten times a second."""
GATHER_PART = 0.02
"""Between these bounds, reports wait for this part of what the launch has taken: by so much longer
trains at most what is to be stopped. Interleaved trials are never stopped: theirs wait longest."""

_News = tuple[Trial, Started | TrialResult]


class TrialSupervisor(tune.Trainable):
    """A launch under Tune: one message a step. The actor is reused, the training is not."""

    _closing: Thread | None = None
    _clock_ahead_s: float | None = None

    def setup(self, config: dict[str, Any]) -> None:
        """Take the launch that ``config`` holds."""
        keep_from_kernel()
        self._running: Interleaving | None = None
        self._rank_actors: list[ActorHandle[Any]] = []
        self._other_nodes: list[str] = []
        self._launch = Launch.from_json(json.loads(config["launch"]))
        self._way = ServerWay(**config["servers"])
        if self._clock_ahead_s is None:
            self._clock_ahead_s = self._way.clock_ahead_s()
        self._began = self._sent_at = time.monotonic()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next launch into this actor; Tune would end it if this returned False."""
        self.cleanup()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Run the launch up to what is worth a message: reports, a start, an end.

        An error would end the actor, with no row but what Tune says of it.

        Raises:
            RanksLost: Another node has gone: the driver runs the launch again, on other nodes.
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
            self._running = Interleaving(self._launch, CoreLeases(), self._new_supervisor)
            if self._launch.failed_attempts:
                # Its start is reported with its first figures. Until then this shows it.
                return Message().to_tune()
        if not self._running.has_cores:
            is_leased = self._running.acquire_cores(timeout_s=LEASE_SLICE_S)
            if too_late := self._launch.not_run(time.time() - self._ahead_s):
                self.cleanup()
                return Message(result=too_late).to_tune(is_last=True)
            if not is_leased:
                what = CoreLeases().what_for(self._launch.num_cores)
                return Message(waiting=what).to_tune()
            # Without the wait for cores: that says nothing of how long the trial runs.
            self._began = time.monotonic()
        message = self._next_message(self._running)
        self._sent_at = time.monotonic()
        if not self._running.has_ended:
            return message.to_tune()
        # In a thread: meanwhile the driver has the trial's row and thinks of the next one.
        self._closing = Thread(target=_close, args=(self._running, self._rank_actors))
        self._closing.start()
        self._running, self._rank_actors = None, []
        return message.to_tune(is_last=True)

    def _next_message(self, running: Interleaving) -> Message:
        """Wait for reports until it is time for a message, or for the start or end before."""
        reports: list[tuple[Trial, Update]] = []
        news: _News | None = None
        trial_update = running.next_update()
        while trial_update is not None:
            trial, update = trial_update
            if not isinstance(update, Update):
                news = trial, update
                break
            reports.append((trial, update))
            left_s = self._sent_at + self._gather_s() - time.monotonic()
            trial_update = running.next_update(left_s) if left_s > 0 else None
        assert reports or news, "without a time limit it waits until something comes"
        return _message(reports, news, running.take_notes(), self._as_the_driver_has_it)

    def _as_the_driver_has_it(self, result: TrialResult) -> TrialResult:
        """Return a row by the driver's clock, and with all of the trial's nodes."""
        began = result.started_at
        return replace(
            result,
            started_at=began and began - self._ahead_s,
            node="+".join([result.node, *self._other_nodes]),
        )

    @property
    def _ahead_s(self) -> float:
        return self._clock_ahead_s or 0.0

    def _gather_s(self) -> float:
        may_be_stopped = not self._launch.others
        return gather_s(self._sent_at - self._began) if may_be_stopped else GATHER_MAX_S

    def halt(self) -> None:
        """Stop the trial, of which enough was seen. Called by the driver, between two steps."""
        if self._running is not None:
            self._running.stop()
        self.cleanup()

    def cleanup(self) -> None:
        """Leave no process, core or port behind."""
        if self._closing is not None:
            # The actor's next launch is to find the cores free.
            self._closing.join()
        _close(self._running, self._rank_actors)
        self._running, self._rank_actors = None, []

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Do nothing: a trial's checkpoints are its own affair."""

    def load_checkpoint(self, checkpoint: object) -> None:
        """Do nothing: see :meth:`save_checkpoint`."""

    def _new_supervisor(self, launch: Launch) -> Supervisor:
        if launch.demand.nodes > 1:
            return self._supervisor_of_nodes(launch)
        actors = [start_rank_actor(index, launch) for index in range(1, launch.demand.ranks)]
        self._rank_actors += actors
        # All are asked before one is waited for, so that the actors start side by side.
        gpus = [gpus_of_actor(), *ray.get([actor.gpus.remote() for actor in actors])]

        def start_rank(launch: Launch, rank: Rank) -> RankProcess:
            try:
                return RemoteRank(actors[rank.index - 1], launch, rank, self._way)
            except ActorDied:  # killed, perhaps with the attempt before
                actors[rank.index - 1] = start_rank_actor(rank.index, launch)
                self._rank_actors.append(actors[rank.index - 1])
                return RemoteRank(actors[rank.index - 1], launch, rank, self._way)

        def server() -> Path:
            return self._way.socket_for(launch)

        return Supervisor(launch, server, leases=CoreLeases(), gpus=gpus, start_rank=start_rank)

    def _supervisor_of_nodes(self, launch: Launch) -> Supervisor:
        """Return the supervisor of a trial whose ranks are on several nodes, this one first."""
        others = OtherNodes(launch)
        self._rank_actors += others.actors
        self._other_nodes = others.names

        def server() -> Path:
            return self._way.socket_for(launch)

        def start_rank(launch: Launch, rank: Rank) -> RankProcess:
            if others.has(rank.index):
                return others.start(launch, rank, self._way)
            return ForkedProcess(server(), request(launch, rank))

        address = ray.util.get_node_ip_address()
        return Supervisor(
            launch, server, leases=CoreLeases(), gpus=others.gpus(), start_rank=start_rank,
            address=address,
        )  # fmt: skip


def gather_s(ran_s: float) -> float:
    """Return how long reports wait for one another, s, where a launch has run for ``ran_s``."""
    return min(max(GATHER_S, GATHER_PART * ran_s), GATHER_MAX_S)


def _message(
    reports: Sequence[tuple[Trial, Update]],
    news: _News | None,
    notes: Sequence[str],
    translated: Callable[[TrialResult], TrialResult],
) -> Message:
    message = Message(
        reports=tuple((trial.id, update.report) for trial, update in reports),
        so_far=translated(reports[-1][1].so_far) if reports else None,
        notes=tuple(notes),
    )
    if news is None:
        return message
    trial, update = news
    if isinstance(update, TrialResult):
        return replace(message, trial_id=trial.id, result=translated(update))
    start = Start(node=os.uname().nodename, restored_epochs=update.restored_epochs)
    return replace(message, trial_id=trial.id, start=start)


def _close(running: Interleaving | None, rank_actors: Sequence[ActorHandle[Any]]) -> None:
    if running is not None:
        running.close()
    for actor in rank_actors:
        ray.kill(actor)
