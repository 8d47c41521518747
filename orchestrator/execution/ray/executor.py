"""The Ray executor: a local Ray or an existing cluster, and one ``Tuner`` a sweep.

Tune's own search, schedulers, loggers, restore and retries are not used: the control loop
asks and decides, the journal remembers. Tune places trials on the cluster, starts and
reuses the actors that supervise them, and takes everything down again.
"""

import atexit
import logging
import os
import time
import uuid
from collections.abc import Sequence
from typing import Any

import ray
from ray import tune
from ray.actor import ActorHandle
from ray.tune.execution import class_cache
from ray.tune.execution.placement_groups import PlacementGroupFactory
from ray.tune.experiment import Trial as RayTrial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from orchestrator.execution.in_flight import Message
from orchestrator.execution.placement import local_machine
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.ray.actors import KEY, TrialSupervisor
from orchestrator.execution.ray.connection import TUNE_SETTINGS, cluster_machine, connect, shut_down
from orchestrator.execution.ray.in_flight import LaunchesInFlight
from orchestrator.execution.ray.local_ray import start_local
from orchestrator.execution.ray.nodes import ServerWay, node_servers, problems_of_nodes
from orchestrator.execution.ray.watchdog import Watchdog
from orchestrator.kernel.executor import Conductor, Executor, Launch, Needs
from orchestrator.machine import Machine

LOOK_EVERY_S = 2.0
"""How often the driver asks a cluster for its nodes."""

CLOSE_LIMIT_S = 5.0
"""How long the nodes of a cluster may take to end their fork servers."""


class RayExecutor(Executor):
    """Executor that runs trials through Ray Tune, here or on an existing cluster."""

    def __init__(
        self,
        servers: ForkServers,
        *,
        address: str | None = None,
        max_concurrent: int | None = None,
        runtime_env: dict[str, Any] | None = None,
    ) -> None:
        """Start a local Ray, or connect to the cluster at ``address``.

        Args:
            servers: This machine's fork servers, in the driver's folder, which is removed at the
                end; on a cluster every node has the same.
            address: Address of an existing cluster, or None for one of our own.
            max_concurrent: Most trials at the same time, or None for what fits.
            runtime_env: Runtime environment that brings the project's code to the workers.

        Raises:
            ConnectionError: There is no cluster at ``address``.
            CannotStart: A local Ray does not come up.
        """
        self._own_servers, self._folder = servers, servers.folder
        os.environ.update(TUNE_SETTINGS)
        self._session = f"sweep-{uuid.uuid4().hex[:8]}"
        self._max_concurrent = max_concurrent
        self._owns_cluster = address is None
        self._servers: dict[str, ActorHandle[Any]] = {}
        self._resources: dict[str, float] = {}
        self._looked_at = float("-inf")
        if address is None:
            start_local(self._folder)
        else:
            connect(address, runtime_env)
        self._watchdog = Watchdog(is_our_own=self._owns_cluster)
        self._follow_nodes()

    def machine(self) -> Machine:
        """Return this machine, or the nodes of the cluster that are alive."""
        return local_machine() if self._owns_cluster else cluster_machine()

    def problems_of_nodes(self, needs: Needs) -> Sequence[str]:
        """Return why nodes could not run the trials; our own node is the driver's, and can.

        Raises:
            ExecutorLost: A process of Ray has died.
        """
        if self._owns_cluster:
            return ()
        found: list[str] = []
        self._watchdog.run(lambda: found.extend(problems_of_nodes(needs)))
        return found

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out.

        Raises:
            ExecutorLost: A process of Ray has died.
        """
        self._watchdog.run(lambda: self._tune(conductor))

    def _tune(self, conductor: Conductor) -> None:
        """Run everything through one ``Tuner``; nothing that it writes is read again."""
        # Ray would write credentials of a cloud to its logs; its processes have them anyway.
        class_cache.ENV_VARS_TO_PROPAGATE = {"RAY_CHDIR_TO_TRIAL_DIR"}
        # Its errors are trials' failures, which have rows.
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
        in_flight = LaunchesInFlight(
            conductor, self._resources, self._way, self._watchdog.is_over, self._keep_up
        )
        tuner = tune.Tuner(
            tune.with_resources(TrialSupervisor, lambda config: _bundles(config["launch"])),
            tune_config=tune.TuneConfig(
                search_alg=in_flight,
                scheduler=_TellingScheduler(in_flight),
                # Without a limit: it returns FINISHED.
                num_samples=-1,
                # A trial takes 3.2 s in a fresh actor on two cores, and 0.4 s in a reused one.
                reuse_actors=True,
                max_concurrent_trials=self._max_concurrent,
                # Tune's own name for the folder would have the launch's JSON in it.
                trial_dirname_creator=lambda trial: trial.trial_id,
            ),
            run_config=tune.RunConfig(
                name=self._session,
                storage_path=str(self._folder / "tune"),
                # Not a callback: for one, Tune imports every logger it knows, MLflow's included.
                stop=in_flight,
                # Tune would store one at each trial's end, and fail on every node but the driver's.
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                # Supervisors retry, from the trial's own checkpoints.
                failure_config=tune.FailureConfig(max_failures=0),
                verbose=0,
            ),
        )
        tuner.fit()

    def _way(self, launch: Launch) -> ServerWay:
        """Return the way to the servers for ``launch``, started by the driver if Ray is our own.

        An actor that a supervisor starts ends with that supervisor, and its servers with it.
        """
        if not self._owns_cluster:
            return ServerWay(session=self._session, folder="")
        self._own_servers.warm((each.demand.allocator, each.preload) for each in launch.each())
        return ServerWay(session=self._session, folder=str(self._folder))

    def _keep_up(self) -> None:
        """Keep up the fork servers; on a cluster, also on nodes that have joined."""
        self._own_servers.keep_up()
        if not self._owns_cluster and time.monotonic() >= self._looked_at + LOOK_EVERY_S:
            self._follow_nodes()

    def _follow_nodes(self) -> None:
        """Update the nodes of the cluster; start fork servers on nodes without them."""
        self._looked_at = time.monotonic()
        self._resources.clear()
        self._resources |= ray.cluster_resources()
        if self._owns_cluster:
            return
        for node_id in {node["NodeID"] for node in ray.nodes() if node["Alive"]}:
            if node_id not in self._servers:
                self._servers[node_id] = node_servers(self._session, node_id, str(self._folder))

    def close(self) -> None:
        """End the node servers, and the local Ray if it is our own."""
        if self._watchdog.lost() or self._watchdog.is_stuck:
            # Without a call of Ray, which could wait for ever.
            self._watchdog.kill()
            atexit.unregister(ray.shutdown)
        elif ray.is_initialized():
            self._close_servers()
            shut_down()
        self._watchdog.close()
        self._own_servers.close()

    def _close_servers(self) -> None:
        everywhere = list(self._servers.values())
        closing: list[ray.ObjectRef[None]] = [servers.close.remote() for servers in everywhere]
        if closing:  # with a limit: a node that has gone does not answer
            ray.wait(closing, num_returns=len(closing), timeout=CLOSE_LIMIT_S)
        for servers in everywhere:
            ray.kill(servers)


class _TellingScheduler(FIFOScheduler):
    """Tune's scheduler that passes messages to the control loop, and follows its answers."""

    def __init__(self, in_flight: LaunchesInFlight) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._in_flight = in_flight
        self._ended: RayTrial | None = None

    def on_trial_result(self, controller: object, trial: RayTrial, result: dict[str, Any]) -> str:
        """Pass on a message; stop the trial if the control loop decides so."""
        stop = self._in_flight.take(trial, result[KEY])
        return str(TrialScheduler.STOP if stop else TrialScheduler.CONTINUE)

    def on_trial_complete(
        self, controller: object, trial: RayTrial, result: dict[str, Any]
    ) -> None:
        """Pass on the last message."""
        self._in_flight.take(trial, result.get(KEY, Message()))
        # Tune keeps the last result of each trial for good, and a trial's output is in it.
        if self._ended is not None:
            self._ended.run_metadata.last_result.pop(KEY, None)
        self._ended = trial

    def on_trial_error(self, controller: object, trial: RayTrial) -> None:
        """Make rows for the trials of a dead supervisor."""
        self._in_flight.fail(trial)


def _bundles(launch: Launch) -> PlacementGroupFactory:
    """Return the trial's resources: a bundle a node, the first its supervisor's."""
    nodes = launch.demand.nodes
    gpus = {"GPU": float(each)} if (each := launch.demand.gpus / nodes) else {}
    bundle = {"CPU": float(launch.num_cores), **gpus}
    return PlacementGroupFactory([bundle] * nodes, strategy="STRICT_SPREAD")
