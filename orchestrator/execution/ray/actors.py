"""The actor of a trial: Tune's trainable, which runs a launch, and its messages to the driver."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from threading import Thread
from typing import Any

import ray
from ray import tune
from ray.actor import ActorHandle

from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.process.ranks import LOOPBACK, RankProcess
from orchestrator.execution.ray.nodes import ServerWay
from orchestrator.execution.ray.remote_ranks import Nodes, RanksLost
from orchestrator.execution.supervision.attempt import Host
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.kernel.executor import Launch, Rank, Started, Update
from orchestrator.system.cgroup import keep_from_kernel
from orchestrator.trial import Report, TrialResult, TrialState

LEASE_SLICE_S = 2.0
"""An actor that waits for leased cores reports it this often."""

GATHER_S, GATHER_MAX_S = 0.5, 5.0
"""Least and longest time after a message in which reports are gathered. A message for each
would take several per cent of a core from trials that report ten times a second."""
GATHER_PART = 0.02
"""Between these bounds, reports are gathered for this part of the launch's time so far: a trial to
be stopped trains at most that much longer. Interleaved ones are never stopped and wait longest."""


KEY = "message"
"""Name of the message in a result of Tune."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """News of a launch since the message before.

    Attributes:
        reports: Reports, each with its trial's id, oldest first.
        so_far: Row of the last report's trial if it ended there, or None without reports.
        trial_id: Trial of ``start`` or ``result``. Empty with a ``result``: every trial
            of the launch that has not ended.
        node: Host of the trial's first process, with a ``start``.
        start: Start of the trial, after the reports, or None.
        result: End of the trial, after the reports, or None.
        waiting: What the launch waits for before it can start, or empty.
        notes: What the user should know of how trials run.
    """

    reports: tuple[tuple[str, Report], ...] = ()
    so_far: TrialResult | None = None
    trial_id: str = ""
    node: str = ""
    start: Started | None = None
    result: TrialResult | None = None
    waiting: str = ""
    notes: tuple[str, ...] = ()

    def to_tune(self, *, is_last: bool = False) -> dict[str, Any]:
        """Return the message as a result of Tune; ``is_last`` ends Tune's trial.

        It is one string: Tune flattens dictionaries and makes a column of each of their keys.
        """
        plain = json.dumps(asdict(self))
        return {KEY: plain, "done": True} if is_last else {KEY: plain}

    @classmethod
    def from_tune(cls, result: Mapping[str, Any]) -> Message:
        """Return the message in a result of Tune; an empty one if Tune made the result itself."""
        plain = json.loads(result.get(KEY, "{}"))
        if not plain:
            return cls()
        reports = tuple((trial, Report.from_json(report)) for trial, report in plain["reports"])
        plain |= {"reports": reports, "notes": tuple(plain["notes"])}
        plain["start"] = plain["start"] and Started(**plain["start"])
        for name in ("so_far", "result"):
            plain[name] = plain[name] and TrialResult.from_json(plain[name])
        return cls(**plain)


class TrialSupervisor(tune.Trainable):
    """A launch under Tune: one message a step. The actor is reused, the training is not."""

    _closing: Thread | None = None

    def setup(self, config: dict[str, Any]) -> None:
        """Take the launch from ``config``."""
        keep_from_kernel()
        self._running: Interleaving | None = None
        self._rank_actors: list[ActorHandle[Any]] = []
        self._other_nodes: list[str] = []
        self._launch = Launch.from_json(json.loads(config["launch"]))
        self._way = ServerWay(**config["servers"])
        self._began = self._sent_at = time.monotonic()

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
            self._running = Interleaving(self._launch, CoreLeases(), self._new_supervisor)
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
            # Without the wait for cores, which does not show how long the trial runs.
            self._began = time.monotonic()
        message = self._next_message(self._running)
        self._sent_at = time.monotonic()
        if not self._running.has_ended:
            return message.to_tune()
        # In a thread: meanwhile the driver has the trial's row and chooses the next one.
        self._closing = Thread(target=_close, args=(self._running, self._rank_actors))
        self._closing.start()
        self._running, self._rank_actors = None, []
        return message.to_tune(is_last=True)

    def _next_message(self, running: Interleaving) -> Message:
        """Wait for reports until it is time for a message, or until a start or an end."""
        message, so_far, reports = Message(), None, []
        trial_update = running.next_update()
        while trial_update is not None:
            trial, update = trial_update
            if isinstance(update, Update):
                reports.append((trial.id, update.report))
                so_far = self._on_all_nodes(update.so_far)
            elif isinstance(update, TrialResult):
                message = Message(trial_id=trial.id, result=self._on_all_nodes(update))
                break
            else:
                assert isinstance(update, Started)
                message = Message(trial_id=trial.id, node=os.uname().nodename, start=update)
                break
            left_s = self._sent_at + self._gather_s() - time.monotonic()
            trial_update = running.next_update(left_s) if left_s > 0 else None
        notes = tuple(running.take_notes())
        return replace(message, reports=tuple(reports), so_far=so_far, notes=notes)

    def _on_all_nodes(self, result: TrialResult) -> TrialResult:
        """Return a row with the names of all of the trial's nodes."""
        return replace(result, node="+".join([result.node, *self._other_nodes]))

    def _gather_s(self) -> float:
        may_be_stopped = not self._launch.others
        return gather_s(self._sent_at - self._began) if may_be_stopped else GATHER_MAX_S

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
        _close(self._running, self._rank_actors)
        self._running, self._rank_actors = None, []

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Do nothing: a trial keeps its own checkpoints."""

    def load_checkpoint(self, checkpoint: object) -> None:
        """Do nothing: see :meth:`save_checkpoint`."""

    def _new_supervisor(self, launch: Launch) -> Supervisor:
        """Return the supervisor of a trial with its first ranks on this node."""
        nodes = Nodes(launch)
        self._rank_actors += nodes.actors
        self._other_nodes = nodes.names

        def start_rank(launch: Launch, rank: Rank) -> RankProcess:
            return nodes.start(launch, rank, self._way)

        host = Host(
            leases=CoreLeases(),
            server=partial(self._way.socket_for, launch),
            gpus=nodes.gpus(),
            start_rank=start_rank,
            address=ray.util.get_node_ip_address() if nodes.names else LOOPBACK,
        )
        return Supervisor(launch, host)


def gather_s(ran_s: float) -> float:
    """Return how long reports are gathered, s, after a launch has run for ``ran_s``."""
    return min(max(GATHER_S, GATHER_PART * ran_s), GATHER_MAX_S)


def _close(running: Interleaving | None, rank_actors: Sequence[ActorHandle[Any]]) -> None:
    if running is not None:
        running.close()
    for actor in rank_actors:
        ray.kill(actor)
