"""Ray Tune: one Tuner a sweep, and thin adapters around the control loop.

Tune's own search, schedulers, loggers, restore and retries are not used: the control loop
asks and decides, the journal remembers. Tune places trials on the cluster, starts and
reuses the actors that supervise them, and takes everything down again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.execution import class_cache
from ray.tune.execution.placement_groups import PlacementGroupFactory
from ray.tune.experiment import Trial as RayTrial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher
from ray.tune.stopper import Stopper

from orchestrator.execution.ray.actors import KEY, Message, TrialSupervisor
from orchestrator.execution.ray.in_flight import LaunchesInFlight, Unpickled
from orchestrator.execution.ray.nodes import ServerWay
from orchestrator.kernel.executor import Conductor, Launch


def run_tuner(
    conductor: Conductor,
    way: Callable[[Launch], ServerWay],
    *,
    keep_up: Callable[[], None],
    is_over: Callable[[], bool],
    cluster: Mapping[str, float],
    name: str,
    results: Path,
    max_concurrent: int | None,
) -> None:
    """Run everything that ``conductor`` hands out through one ``Tuner``.

    Args:
        conductor: The control loop.
        way: How a launch's actors find its fork server.
        keep_up: Restarts dead processes that trials need; called several times a second.
        is_over: Whether Ray has died, or Tune is abandoned.
        cluster: CPUs and GPUs of all nodes together, as Ray names them, kept up to date.
        name: Name of the Tune experiment.
        results: Folder for what Tune writes; nothing in it is read again.
        max_concurrent: Most trials at the same time, or None for what fits.
    """
    # Ray would write credentials of a cloud to its logs; its processes have them anyway.
    class_cache.ENV_VARS_TO_PROPAGATE = {"RAY_CHDIR_TO_TRIAL_DIR"}
    # Its errors are trials' failures, which have rows.
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
    in_flight = LaunchesInFlight(conductor, cluster, is_over)
    tuner = tune.Tuner(
        tune.with_resources(TrialSupervisor, lambda config: _bundles(config["launch"])),
        tune_config=tune.TuneConfig(
            search_alg=_AskingSearcher(in_flight, way),
            scheduler=_TellingScheduler(in_flight),
            # Without a limit: the searcher returns FINISHED.
            num_samples=-1,
            # A trial takes 3.2 s in a fresh actor on two cores, and 0.4 s in a reused one.
            reuse_actors=True,
            max_concurrent_trials=max_concurrent,
            # Tune's own name for the folder would have the launch's JSON in it.
            trial_dirname_creator=lambda trial: trial.trial_id,
        ),
        run_config=tune.RunConfig(
            name=name,
            storage_path=str(results),
            # Not a callback: for one, Tune imports every logger it knows, MLflow's included.
            stop=_Ticker(in_flight, keep_up),
            # Tune would store one at each trial's end, and fail on every node but the driver's.
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            # Supervisors retry, from the trial's own checkpoints.
            failure_config=tune.FailureConfig(max_failures=0),
            verbose=0,
        ),
    )
    tuner.fit()


class _AskingSearcher(Unpickled, Searcher):
    """Tune's searcher that hands out what the control loop asks for."""

    def __init__(self, in_flight: LaunchesInFlight, way: Callable[[Launch], ServerWay]) -> None:
        super().__init__()
        self._in_flight = in_flight
        self._way = way

    def suggest(self, trial_id: str) -> Any:  # noqa: ANN401 - Tune's own mix
        """Return the next trial's config, ``FINISHED``, or None to be asked again later."""
        launch = self._in_flight.next_launch(trial_id)
        if launch is None:
            return Searcher.FINISHED
        if not isinstance(launch, Launch):
            return None
        # A string: Tune would flatten a dictionary in the trial's tag and files.
        return {"launch": json.dumps(launch.to_json()), "servers": asdict(self._way(launch))}

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Do nothing: the scheduler passes it on."""

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: the journal remembers."""

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: the journal remembers."""


class _TellingScheduler(FIFOScheduler):
    """Tune's scheduler that passes messages to the control loop, and follows its answers."""

    def __init__(self, in_flight: LaunchesInFlight) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._in_flight = in_flight
        self._ended: RayTrial | None = None

    def on_trial_result(self, controller: object, trial: RayTrial, result: dict[str, Any]) -> str:
        """Pass on a message; stop the trial if the control loop decides so."""
        stop = self._in_flight.take(trial, Message.from_tune(result))
        return str(TrialScheduler.STOP if stop else TrialScheduler.CONTINUE)

    def on_trial_complete(
        self, controller: object, trial: RayTrial, result: dict[str, Any]
    ) -> None:
        """Pass on the last message."""
        self._in_flight.take_last(trial, Message.from_tune(result))
        # Tune keeps the last result of each trial for good, and a trial's output is in it.
        if self._ended is not None:
            self._ended.run_metadata.last_result.pop(KEY, None)
        self._ended = trial

    def on_trial_error(self, controller: object, trial: RayTrial) -> None:
        """Make rows for the trials of a dead supervisor."""
        self._in_flight.fail(trial)


class _Ticker(Unpickled, Stopper):
    """Tune's stopper: its loop calls it several times a second."""

    def __init__(self, in_flight: LaunchesInFlight, keep_up: Callable[[], None]) -> None:
        self._in_flight = in_flight
        self._keep_up = keep_up

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Stop no trial."""
        return False

    def stop_all(self) -> bool:
        """Return True if the sweep was interrupted; let the control loop tick."""
        self._keep_up()
        return self._in_flight.tick()


def _bundles(launch_json: str) -> PlacementGroupFactory:
    """Return the trial's resources: a bundle a node, the first its supervisor's."""
    launch = Launch.from_json(json.loads(launch_json))
    nodes = launch.demand.nodes
    gpus = {"GPU": float(each)} if (each := launch.demand.gpus // nodes) else {}
    bundle = {"CPU": float(launch.num_cores), **gpus}
    return PlacementGroupFactory([bundle] * nodes, strategy="STRICT_SPREAD")
