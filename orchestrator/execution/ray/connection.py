"""Ray itself: its settings, connecting to a cluster, its nodes, leaving it."""

from __future__ import annotations

import gc
import logging
import socket
from typing import Any

import ray

from orchestrator.execution.leases import DRIVER_FROM_CORES
from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.apart import init_apart
from orchestrator.execution.ray.local_ray import private_to_driver
from orchestrator.machine import Machine, Node

LISTENER_S = 5.0
"""An address that does not answer within this time has no cluster."""

TUNE_SETTINGS = {
    # Relative paths are to mean the same in a trial as in the driver.
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    # Ctrl-C is the driver's to handle.
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    # Tune's own state is never read again, so it is written as rarely as it can be.
    "TUNE_GLOBAL_CHECKPOINT_S": "100000",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    # LaunchesInFlight decides how many wait ahead. With Tune's own limit of one, actors would
    # start one after the other.
    "TUNE_MAX_PENDING_TRIALS_PG": "1000",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    # Ray starts a worker a core ahead, half a second of CPU time each. Tune's actors have an
    # separate environment and can use none of them.
    "RAY_prestart_worker_first_driver": "false",
    # On a slow machine its processes take longer than its 30 s. A raylet whose agents
    # take longer ends itself.
    "RAY_gcs_server_port_wait_time_s": "120",
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_agent_register_timeout_ms": "120000",
    # Without its GCS for so long Ray ends the driver from C++, which the driver does itself.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "86400",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    # Ray's own default is 15. On a cluster an actor holds the fork servers, and trials inherit
    # its niceness: they would yield to everything else on their cores.
    "RAY_worker_niceness": "0",
    # Ray's own guard would kill a supervisor, whichever trial has the memory. Each trial has a
    # guard of its own.
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_oom_score_adjustment": "0",
}


def connect(address: str, runtime_env: dict[str, Any] | None) -> None:
    """Connect to the cluster at ``address``.

    Args:
        address: Address of its head, ``HOST:PORT``.
        runtime_env: Runtime environment that brings the project's code to its workers.

    Raises:
        ConnectionError: Nothing listens there, or Ray does not answer.
    """
    _be_quiet()
    _require_listener(address)

    def init() -> None:
        with private_to_driver():
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env=runtime_env,
            )

    try:
        init_apart(init, lambda: "")()
    except TimeoutError as error:
        raise ConnectionError(str(error)) from None


def shut_down() -> None:
    """Leave the cluster, and end it if it is our own.

    No garbage is collected meanwhile. Deleting an object reference in another thread asks Ray's
    core worker, which has gone by then: Ray ends the whole process with exit code 1.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        ray.shutdown()
    finally:
        if was_enabled:
            gc.enable()


def cluster_machine(*, is_our_own: bool) -> Machine:
    """Return the nodes that are alive, of our own Ray or of an existing cluster."""
    alive = [node for node in ray.nodes() if node["Alive"] and "CPU" in node["Resources"]]
    return Machine(nodes=tuple(_node(node, is_our_own=is_our_own) for node in alive))


def _node(node: dict[str, Any], *, is_our_own: bool) -> Node:
    resources = node["Resources"]
    cpus, gpus = int(resources["CPU"]), int(resources.get("GPU", 0))
    kinds = [name.split(":", 1)[1] for name in resources if name.startswith("accelerator_type:")]
    if is_our_own:
        # Our own Ray was started without them.
        reserved_cpus = local_machine().nodes[0].reserved_cpus
    else:
        reserved_cpus = 1 if cpus >= DRIVER_FROM_CORES else 0
    return Node(
        name=node["NodeManagerHostname"],
        cpus=cpus if is_our_own else cpus - reserved_cpus,
        gpus=gpus,
        gpu_name=kinds[0] if gpus and kinds else "",
        reserved_cpus=reserved_cpus,
    )


def _be_quiet() -> None:
    logging.getLogger("ray").setLevel(logging.ERROR)
    # What ends a trial is in its row: Tune's own errors, with tracebacks, say it again.
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)


def _require_listener(address: str) -> None:
    """Connect to the address first: Ray would retry for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), LISTENER_S).close()
    except OSError as error:
        raise ConnectionError(error.strerror or str(error)) from None
