"""Ray Tune: one Tuner a sweep, and thin adapters around the control loop.

Tune's own search, schedulers, loggers, restore and retries are not used: the control loop
asks and decides, the journal remembers. Tune places trials on the cluster, starts and
reuses the actors that supervise them, and takes everything down again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.execution.placement_groups import PlacementGroupFactory
from ray.tune.experiment import Trial as RayTrial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher
from ray.tune.stopper import Stopper

from orchestrator.execution.base import Conductor, Launch
from orchestrator.execution.ray.actors import MESSAGE, TrialSupervisor, cpus_of_ranks
from orchestrator.execution.ray.node_servers import ServerWay
from orchestrator.search.base import WAIT
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

WAIT_REPORT_S = 20.0
"""A trial that has not been placed for so long is reported with what it waits for."""

SHORT_S = 0.5
"""A trial that takes no longer than this is done before another actor could be started."""
MOST_AHEAD = 2
"""How many trials wait with no room for them. With none cores would be idle, and with one Tune
ends an actor that it needs again at once wherever two trials end together. More would have a search
that learns decide too early."""


def run_tuner(
    conductor: Conductor,
    way: Callable[[Launch], ServerWay],
    *,
    name: str,
    results: Path,
    max_concurrent: int | None,
) -> None:
    """Runs everything that ``conductor`` hands out through one ``Tuner``.

    Args:
        conductor: The control loop.
        way: How a launch's actors find its fork server.
        name: Of the Tune experiment.
        results: Folder for what Tune writes; nothing in it is read again.
        max_concurrent: Most trials at the same time, or None for what fits.
    """
    bridge = _Bridge(conductor, way)
    tuner = tune.Tuner(
        tune.with_resources(TrialSupervisor, lambda config: _bundles(config["launch"])),
        tune_config=tune.TuneConfig(
            search_alg=_AskingSearcher(bridge),
            scheduler=_TellingScheduler(bridge),
            num_samples=-1,
            reuse_actors=True,
            max_concurrent_trials=max_concurrent,
            trial_dirname_creator=lambda trial: trial.trial_id,
        ),
        run_config=tune.RunConfig(
            name=name,
            storage_path=str(results),
            # Not a callback: for one, Tune imports every logger it knows, MLflow's included.
            stop=_Watch(bridge),
            failure_config=tune.FailureConfig(max_failures=0),
            verbose=0,
        ),
    )
    tuner.fit()


class _Bridge:
    """Between Tune's trials and ours; what Tune's own classes below have in common."""

    def __init__(self, conductor: Conductor, way: Callable[[Launch], ServerWay]) -> None:
        self.conductor = conductor
        self._way = way
        self._launches: dict[str, Launch] = {}
        self._left: dict[str, dict[str, Trial]] = {}
        self._waiting_since: dict[str, float] = {}
        self._said: dict[str, float] = {}
        self._placed: set[str] = set()
        self._running: dict[str, RayTrial] = {}
        self._started_at: dict[str, float] = {}
        self._cluster: dict[str, float] = ray.cluster_resources()

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles what it is given, for a restore that is not used."""
        return {}

    def suggest(self, ray_id: str) -> dict[str, Any] | str | None:
        if self._has_enough_ahead():
            return None
        launch = self.conductor.next_launch()
        if launch is None:
            return str(Searcher.FINISHED)
        if launch is WAIT or not isinstance(launch, Launch):
            return None
        self._launches[ray_id] = launch
        self._left[ray_id] = {trial.id: trial for trial in launch.trials}
        self._waiting_since[ray_id] = time.monotonic()
        return {"launch": json.dumps(launch.to_json()), "servers": asdict(self._way(launch))}

    def _has_enough_ahead(self) -> bool:
        """Whether as many trials wait as are of use: what fills the cluster, and a few more.

        For a trial ahead Tune starts an actor, two seconds' work, and ends it again if that of
        another trial becomes free meanwhile: so none is asked for beside one that may be short,
        unless being beside another is what that one is for.
        """
        num_waiting = len(self._waiting_since)
        now = time.monotonic()
        may_be_short = [
            now - since < SHORT_S and not _wants_company(self._launches[ray_id])
            for ray_id, since in self._started_at.items()
        ]
        if not may_be_short or any(may_be_short):
            return bool(may_be_short) or num_waiting > 0
        in_hand = self._launches.values()
        load = max(
            sum(launch.num_cores for launch in in_hand) / self._cluster.get("CPU", 1.0),
            sum(launch.demand.gpus for launch in in_hand) / self._cluster.get("GPU", 1.0),
        )
        return num_waiting > 0 and load >= 1 and (num_waiting >= MOST_AHEAD or load >= MOST_AHEAD)

    def heard(self, ray_trial: RayTrial, result: dict[str, Any]) -> bool:
        """Takes one message of an actor; returns whether its trial is to stop."""
        launch = self._launches.get(ray_trial.trial_id)
        if launch is None:
            return True
        message = json.loads(result[MESSAGE])
        self._take_notes(message)
        self._running[ray_trial.trial_id] = ray_trial
        if self._hand_on(ray_trial.trial_id, message) and not launch.others:
            self._halt(ray_trial, TrialResult.from_json(message["so_far"]))
            return True
        if "started" in message:
            self._waiting_since.pop(ray_trial.trial_id, None)
            self._started_at.setdefault(ray_trial.trial_id, time.monotonic())
            trial = self._left[ray_trial.trial_id][message["trial_id"]]
            self.conductor.started(trial, cores=launch.num_cores, **message["started"])
        elif "result" in message:
            self._finish_one(ray_trial.trial_id, message)
        elif "waiting" in message:
            self._placed.add(ray_trial.trial_id)
            if self._is_time_to_say(ray_trial.trial_id):
                self._say_waiting(ray_trial.trial_id, message["waiting"])
        return False

    def _hand_on(self, ray_id: str, message: dict[str, Any]) -> bool:
        """Hands on what a trial has reported since its last message; whether it is to stop."""
        stop = False
        for report in message.get("reports", ()):
            trial = self._left[ray_id][report.pop("trial_id")]
            stop |= self.conductor.reported(trial, Report.from_json(report))
        return stop

    def _halt(self, ray_trial: RayTrial, so_far: TrialResult) -> None:
        """Ends a trial's process: Tune keeps its actor, for the next one."""
        actor: Any = ray_trial.temporary_state.ray_actor
        actor.halt.remote()
        self._finish(ray_trial.trial_id, so_far)

    def completed(self, ray_trial: RayTrial, result: dict[str, Any]) -> None:
        """Takes the last message. All has ended, whether it was to be stopped or not."""
        message = json.loads(result.get(MESSAGE, "{}"))
        self._take_notes(message)
        if "result" not in message or ray_trial.trial_id not in self._launches:
            return
        if "trial_id" in message:
            self._hand_on(ray_trial.trial_id, message)
            self._finish_one(ray_trial.trial_id, message)
        self._finish(ray_trial.trial_id, TrialResult.from_json(message["result"]))

    def _finish_one(self, ray_id: str, message: dict[str, Any]) -> None:
        """Of several that take turns one has ended."""
        trial = self._left[ray_id].pop(message["trial_id"])
        if not self.conductor.interrupted:
            self.conductor.finished(trial, TrialResult.from_json(message["result"]))

    def _take_notes(self, message: dict[str, Any]) -> None:
        for note in message.get("notes", ()):
            self.conductor.note(note)

    def failed(self, ray_trial: RayTrial) -> None:
        error = ray_trial.get_error()
        last = str(error).strip().splitlines()[-1:] if error else []
        reason = " ".join(["the trial's supervisor died:", *(last or ["no reason is known"])])
        self._finish(ray_trial.trial_id, TrialResult(state=TrialState.FAILED, reason=reason))

    def _finish(self, ray_id: str, result: TrialResult) -> None:
        """All that has not ended of a launch has, with this."""
        self._launches.pop(ray_id, None)
        self._waiting_since.pop(ray_id, None)
        self._started_at.pop(ray_id, None)
        self._running.pop(ray_id, None)
        for trial in self._left.pop(ray_id, {}).values():
            if not self.conductor.interrupted:
                self.conductor.finished(trial, result)

    def kill_running(self) -> None:
        """Ends the running trials at once: a supervisor within a step hears nothing else."""
        for ray_trial in self._running.values():
            actor: Any = ray_trial.temporary_state.ray_actor
            if actor is not None:
                ray.kill(actor)
        self._running.clear()

    def report_waiting(self) -> None:
        """Reports trials that Ray could not place yet, with what they wait for.

        Behind a running trial of the sweep's own a trial is queued, it does not wait.
        """
        for ray_id in self._waiting_since.keys() - self._placed:
            if self._running:
                self._waiting_since[ray_id] = time.monotonic()
                continue
            if not self._is_time_to_say(ray_id):
                continue
            launch = self._launches[ray_id]
            asked = f"{launch.num_cores} CPU and {launch.demand.gpus} GPU"
            free = ray.available_resources()
            left = f"{free.get('CPU', 0):g} CPU and {free.get('GPU', 0):g} GPU are free"
            self._say_waiting(ray_id, f"{asked} of the Ray cluster, of which {left}")

    def _is_time_to_say(self, ray_id: str) -> bool:
        """Whether what a trial waits for is to be said now; it is said now and then."""
        since = self._waiting_since[ray_id]
        return time.monotonic() >= self._said.get(ray_id, since) + WAIT_REPORT_S

    def _say_waiting(self, ray_id: str, what: str) -> None:
        self._said[ray_id] = time.monotonic()
        waited_s = self._said[ray_id] - self._waiting_since[ray_id]
        for trial in self._launches[ray_id].trials:
            self.conductor.waiting(trial, waited_s, what)


class _AskingSearcher(Searcher):
    """Tune's searcher that hands out what the control loop asks for."""

    def __init__(self, bridge: _Bridge) -> None:
        super().__init__()
        self._bridge = bridge

    def suggest(self, trial_id: str) -> Any:  # noqa: ANN401 - Tune's own mix
        """The next trial, ``FINISHED``, or None to be asked again later."""
        return self._bridge.suggest(trial_id)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Nothing: the scheduler tells."""

    def save(self, checkpoint_path: str) -> None:
        """Nothing: the journal remembers."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing: the journal remembers."""


class _TellingScheduler(FIFOScheduler):
    """Tune's scheduler that tells the control loop what it hears, and obeys it."""

    def __init__(self, bridge: _Bridge) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._bridge = bridge

    def on_trial_result(self, controller: object, trial: RayTrial, result: dict[str, Any]) -> str:
        """Hands on a report; stops the trial where the control loop says so."""
        stop = self._bridge.heard(trial, result)
        return str(TrialScheduler.STOP if stop else TrialScheduler.CONTINUE)

    def on_trial_complete(
        self, controller: object, trial: RayTrial, result: dict[str, Any]
    ) -> None:
        """Hands on a trial's row."""
        self._bridge.completed(trial, result)

    def on_trial_error(self, controller: object, trial: RayTrial) -> None:
        """Makes a row of a supervisor's death."""
        self._bridge.failed(trial)


class _Watch(Stopper):
    """Looks round whenever Tune's loop does; ends everything once the sweep was interrupted."""

    def __init__(self, bridge: _Bridge) -> None:
        self._bridge = bridge

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """No trial is stopped by itself here."""
        return False

    def stop_all(self) -> bool:
        """Whether the sweep was interrupted. Lets the trackers tick, reports trials that wait."""
        self._bridge.report_waiting()
        self._bridge.conductor.tick()
        interrupted = self._bridge.conductor.interrupted
        if interrupted:
            self._bridge.kill_running()
        return interrupted


def _wants_company(launch: Launch) -> bool:
    is_check = launch.trial.stage is Stage.PROBE and not launch.trial.isolated
    return is_check and not launch.others


def _bundles(launch_json: str) -> PlacementGroupFactory:
    """The trial's resources: a bundle a rank, on one node, the first one its supervisor's."""
    launch = Launch.from_json(json.loads(launch_json))
    ranks = launch.demand.ranks
    gpus = {"GPU": float(each)} if (each := launch.demand.gpus // ranks) else {}
    bundles = [{"CPU": cpus, **gpus} for cpus in cpus_of_ranks(launch.num_cores, ranks)]
    return PlacementGroupFactory(bundles, strategy="STRICT_PACK")
