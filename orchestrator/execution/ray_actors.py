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

from orchestrator.execution.base import Launch, Rank, Restarted, Update
from orchestrator.execution.cores import CoreLeases
from orchestrator.execution.memory_guard import keep_from_kernel
from orchestrator.execution.node_gpus import in_full
from orchestrator.execution.node_servers import ServerWay
from orchestrator.execution.ranks import RankProcess, request
from orchestrator.execution.servers import ForkedProcess, ServerError
from orchestrator.execution.supervisor import Supervisor
from orchestrator.trial import TrialResult, TrialState

MESSAGE = "message"
"""Key of a Tune result under which a supervisor's message stands, as JSON."""
LEASE_SLICE_S = 5.0
GATHER_S = 0.5
"""Reports wait for one another so long after a message: a driver that is told of each at once takes
several per cent of a core from trials that report ten times a second."""
_CPU_UNITS = 10_000


class TrialSupervisor(tune.Trainable):
    """A trial under Tune: one message a step. The actor is reused, the training is not."""

    _taking_down: Thread | None = None

    def setup(self, config: dict[str, Any]) -> None:
        """Starts the trial that ``config`` holds."""
        keep_from_kernel()
        self._supervisor: Supervisor | None = None
        self._others: list[ActorHandle[Any]] = []
        self._launch = Launch.from_json(json.loads(config["launch"]))
        self._way = ServerWay(**config["servers"])
        self._said_at = float("-inf")

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Takes the next trial into this actor."""
        self.cleanup()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Runs the trial up to what is worth a message: reports, another start, its end."""
        try:
            return self._step()
        except (ServerError, LookupError, OSError, ray.exceptions.RayActorError) as error:
            self.cleanup()
            result = TrialResult(state=TrialState.FAILED, reason=f"{type(error).__name__}: {error}")
            return _ended(result)

    def _step(self) -> dict[str, Any]:
        if self._supervisor is None:
            self._supervisor = self._new_supervisor()
        if not self._supervisor.has_started:
            leased = self._supervisor.acquire_cores(timeout_s=LEASE_SLICE_S)
            if too_late := self._launch.not_run():
                self.cleanup()
                return _ended(too_late)
            if not leased:
                what = f"{self._launch.num_cores} cores that another sweep on this node has leased"
                return {MESSAGE: json.dumps({"waiting": what})}
            self._supervisor.start()
            return self._started()
        reports, update = self._gathered(self._supervisor)
        said: dict[str, Any] = {"reports": [each.report.to_json() for each in reports]}
        if reports:
            said["so_far"] = reports[-1].so_far.to_json()
        if isinstance(update, Restarted):
            return self._started(update.went_on_from, **said)
        if update is None:
            return self._message(said)
        ended = self._message({"result": update.to_json(), **said})
        # Meanwhile the driver hears of the trial and thinks of the next one.
        self._taking_down = Thread(target=_take_down, args=(self._supervisor, self._others))
        self._taking_down.start()
        self._supervisor, self._others = None, []
        return {**ended, "done": True}

    def _gathered(
        self, supervisor: Supervisor
    ) -> tuple[list[Update], Restarted | TrialResult | None]:
        """The reports until it is time for a message, and what ended that time early."""
        reports: list[Update] = []
        while True:
            left_s = max(self._said_at + GATHER_S - time.monotonic(), 0.0) if reports else None
            if left_s == 0.0:
                return reports, None
            update = supervisor.next_update(left_s)
            if isinstance(update, Update):
                reports.append(update)
            elif update is not None:
                return reports, update

    def _started(self, went_on_from: int = 0, **said: object) -> dict[str, Any]:
        start = {"node": os.uname().nodename, "went_on_from": went_on_from}
        return self._message({"started": start, **said})

    def _message(self, content: dict[str, Any]) -> dict[str, Any]:
        self._said_at = time.monotonic()
        notes = self._supervisor.take_notes() if self._supervisor is not None else []
        return {MESSAGE: json.dumps({**content, "notes": notes})}

    def halt(self) -> None:
        """Stops the trial, of which enough was seen."""
        if self._supervisor is not None:
            self._supervisor.stop()
        self.cleanup()

    def cleanup(self) -> None:
        """Leaves no process, core or port behind."""
        if self._taking_down is not None:
            self._taking_down.join()
        _take_down(self._supervisor, self._others)
        self._supervisor, self._others = None, []

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Nothing: a trial's checkpoints are its own affair."""

    def load_checkpoint(self, checkpoint: object) -> None:
        """Nothing: see :meth:`save_checkpoint`."""

    def _new_supervisor(self) -> Supervisor:
        launch = self._launch
        others = [_rank_actor(index, launch) for index in range(1, launch.demand.ranks)]
        self._others = others
        gpus = [_gpus_here(), *ray.get([other.gpus.remote() for other in others])]

        def start_rank(launch: Launch, rank: Rank) -> RankProcess:
            return RemoteRank(others[rank.index - 1], launch, rank, self._way)

        def server() -> Path:
            return self._way.socket_for(launch)

        return Supervisor(launch, server, leases=CoreLeases(), gpus=gpus, start_rank=start_rank)


def _take_down(supervisor: Supervisor | None, others: Sequence[ActorHandle[Any]]) -> None:
    if supervisor is not None:
        supervisor.close()
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
