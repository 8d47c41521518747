"""What runs inside Ray's actors: a trial's supervisor and its other ranks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import Any

import ray
from ray import tune
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.execution.base import Launch, Rank, Started, Update
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkedProcess, ServerError
from orchestrator.execution.process.ranks import RankProcess, request
from orchestrator.execution.ray.node_servers import ServerWay
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.system.gpus import in_full
from orchestrator.system.memory import keep_from_kernel
from orchestrator.trial import Trial, TrialResult, TrialState

MESSAGE = "message"
"""Key of a Tune result under which a supervisor's message stands, as JSON."""
LEASE_SLICE_S = 5.0
GATHER_S, GATHER_MOST_S = 0.5, 5.0
"""Reports wait for one another so long after a message, at least and at most: a driver that is told
of each at once takes several per cent of a core from trials that report ten times a second."""
GATHER_PART = 0.02
"""And between these bounds for this part of what the launch has taken: by so much longer trains at
most what is to be stopped. Where trials take turns none is, so that their reports wait longest."""
_CPU_UNITS = 10_000

_Gathered = tuple[Sequence[tuple[Trial, Update]], tuple[Trial, Started | TrialResult] | None]


class TrialSupervisor(tune.Trainable):
    """A launch under Tune: one message a step. The actor is reused, the training is not."""

    _taking_down: Thread | None = None

    def setup(self, config: dict[str, Any]) -> None:
        """Starts what ``config`` holds."""
        keep_from_kernel()
        self._running: Interleaving | None = None
        self._others: list[ActorHandle[Any]] = []
        self._launch = Launch.from_json(json.loads(config["launch"]))
        self._way = ServerWay(**config["servers"])
        self._began = self._said_at = time.monotonic()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Takes the next launch into this actor."""
        self.cleanup()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Runs it up to what is worth a message: reports, a start, an end."""
        try:
            return self._step()
        except (ServerError, LookupError, OSError, ray.exceptions.RayActorError) as error:
            self.cleanup()
            result = TrialResult(state=TrialState.FAILED, reason=f"{type(error).__name__}: {error}")
            return _ended(result)

    def _step(self) -> dict[str, Any]:
        if self._running is None:
            self._running = Interleaving(self._launch, CoreLeases(), self._new_supervisor)
        if not self._running.has_cores:
            leased = self._running.acquire_cores(timeout_s=LEASE_SLICE_S)
            if too_late := self._launch.not_run():
                self.cleanup()
                return _ended(too_late)
            if not leased:
                what = f"{self._launch.num_cores} cores that another sweep on this node has leased"
                return {MESSAGE: json.dumps({"waiting": what})}
            self._began = time.monotonic()
        reports, news = self._gathered(self._running)
        said: dict[str, Any] = {}
        if reports:
            said["reports"] = [
                {"trial_id": trial.id, **each.report.to_json()} for trial, each in reports
            ]
            said["so_far"] = reports[-1][1].so_far.to_json()
        if news is not None:
            trial, update = news
            said["trial_id"] = trial.id
            if isinstance(update, Started):
                node = os.uname().nodename
                said["started"] = {"node": node, "restored_epochs": update.restored_epochs}
            else:
                said["result"] = update.to_json()
        self._said_at = time.monotonic()
        message = {MESSAGE: json.dumps({**said, "notes": self._running.take_notes()})}
        if not self._running.has_ended:
            return message
        # Meanwhile the driver hears of the trial and thinks of the next one.
        self._taking_down = Thread(target=_take_down, args=(self._running, self._others))
        self._taking_down.start()
        self._running, self._others = None, []
        return {**message, "done": True}

    def _gathered(self, running: Interleaving) -> _Gathered:
        """Reports until it is time for a message, and the start or end that came before."""
        reports: list[tuple[Trial, Update]] = []
        heard = running.next_update()
        while heard is not None:
            trial, update = heard
            if not isinstance(update, Update):
                return reports, (trial, update)
            reports.append((trial, update))
            left_s = self._said_at + self._gather_s() - time.monotonic()
            heard = running.next_update(left_s) if left_s > 0 else None
        assert reports, "it waits until something comes"
        return reports, None

    def _gather_s(self) -> float:
        may_be_stopped = not self._launch.others
        return gather_s(self._said_at - self._began) if may_be_stopped else GATHER_MOST_S

    def halt(self) -> None:
        """Stops the trial, of which enough was seen."""
        if self._running is not None:
            self._running.stop()
        self.cleanup()

    def cleanup(self) -> None:
        """Leaves no process, core or port behind."""
        if self._taking_down is not None:
            self._taking_down.join()
        _take_down(self._running, self._others)
        self._running, self._others = None, []

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Nothing: a trial's checkpoints are its own affair."""

    def load_checkpoint(self, checkpoint: object) -> None:
        """Nothing: see :meth:`save_checkpoint`."""

    def _new_supervisor(self, launch: Launch) -> Supervisor:
        others = [_rank_actor(index, launch) for index in range(1, launch.demand.ranks)]
        self._others += others
        gpus = [_gpus_here(), *ray.get([other.gpus.remote() for other in others])]

        def start_rank(launch: Launch, rank: Rank) -> RankProcess:
            return RemoteRank(others[rank.index - 1], launch, rank, self._way)

        def server() -> Path:
            return self._way.socket_for(launch)

        return Supervisor(launch, server, leases=CoreLeases(), gpus=gpus, start_rank=start_rank)


def gather_s(ran_s: float) -> float:
    """How long reports wait for one another, s, where a launch has run for ``ran_s``."""
    return min(max(GATHER_S, GATHER_PART * ran_s), GATHER_MOST_S)


def _take_down(running: Interleaving | None, others: Sequence[ActorHandle[Any]]) -> None:
    if running is not None:
        running.close()
    for other in others:
        ray.kill(other)


@ray.remote(num_cpus=0)
class RankActor:
    """A rank other than 0, in its own bundle of the trial's placement group."""

    _process: ForkedProcess

    def gpus(self) -> list[str]:
        """GPUs that Ray gave to this bundle."""
        return _gpus_here()

    def start(self, launch: dict[str, Any], rank: dict[str, Any], way: ServerWay) -> int:
        """Starts the rank's training process on this actor's node; returns its id."""
        started = Launch.from_json(launch)
        server = way.socket_for(started)
        log = started.scratch / "logs" / f"{started.trial.id}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        self._process = ForkedProcess(server, request(started, Rank(**rank), log))
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    def hang_up(self) -> None:
        """Kills the rank and what it started."""
        self._process.hang_up()


class RemoteRank:
    """A rank in another actor, as its supervisor sees it."""

    def __init__(self, actor: ActorHandle[Any], launch: Launch, rank: Rank, way: ServerWay) -> None:
        self._actor = actor
        self._asked: ray.ObjectRef[int | None] | None = None
        self._asked_at = 0.0
        started: ray.ObjectRef[int] = actor.start.remote(launch.to_json(), asdict(rank), way)
        try:
            self.pid = int(ray.get(started))
        except ray.exceptions.RayActorError as error:
            raise ServerError(f"the actor of rank {rank.index} has died") from error

    def poll(self) -> int | None:
        """The exit code, or None while it runs or no answer has come."""
        if self._asked is None:
            if time.monotonic() - self._asked_at < 1.0:
                return None
            self._asked_at = time.monotonic()
            self._asked = self._actor.poll.remote()
        if not ray.wait([self._asked], timeout=0)[0]:
            return None
        try:
            code = ray.get(self._asked)
        except ray.exceptions.RayActorError:
            return -9
        self._asked = None
        return code

    def hang_up(self) -> None:
        """Kills the rank; its actor stays, for the trial's next attempt."""
        self._actor.hang_up.remote()


def cpus_of_ranks(num_cores: int, ranks: int) -> list[float]:
    """Each rank's part of the trial's cores; together they are all of them, and never more.

    Ray counts a CPU in units of 1/10000; what does not divide is the first rank's.
    """
    units = num_cores // ranks * _CPU_UNITS or num_cores * _CPU_UNITS // ranks
    first = num_cores * _CPU_UNITS - units * (ranks - 1)
    return [first / _CPU_UNITS, *[units / _CPU_UNITS] * (ranks - 1)]


def _rank_actor(index: int, launch: Launch) -> ActorHandle[Any]:
    group = ray.util.get_current_placement_group()
    assert group is not None, "Tune places every trial in a group"
    demand = launch.demand
    actor_class: Any = RankActor
    made: ActorHandle[Any] = actor_class.options(
        num_cpus=cpus_of_ranks(launch.num_cores, demand.ranks)[index],
        num_gpus=demand.gpus // demand.ranks,
        scheduling_strategy=PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=index
        ),
    ).remote()
    return made


def _gpus_here() -> list[str]:
    return in_full([str(gpu) for gpu in ray.get_gpu_ids()])


def _ended(result: TrialResult) -> dict[str, Any]:
    return {MESSAGE: json.dumps({"result": result.to_json()}), "done": True}
