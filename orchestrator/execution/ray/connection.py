"""Ray itself: its settings, starting it, connecting to a cluster, leaving it."""

import gc
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any
from unittest.mock import patch

import ray

from orchestrator.execution.leases import DRIVER_FROM_CORES
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
    # Ray starts a worker a core ahead, half a second of CPU time each. Tune's actors have a
    # separate environment and can use none of them.
    "RAY_prestart_worker_first_driver": "false",
    # On a slow machine Ray's processes take longer than its default of 30 s. A raylet ends
    # itself if its agents take longer.
    "RAY_gcs_server_port_wait_time_s": "120",
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_agent_register_timeout_ms": "120000",
    # After so long without its GCS Ray ends the driver from C++. The driver ends itself.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "86400",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    # Ray's own default is 15. On a cluster an actor owns the fork servers, and trials inherit
    # its niceness: they would yield to everything else on their cores.
    "RAY_worker_niceness": "0",
    # Ray's own guard would kill a supervisor, whichever trial has the memory. Each trial has
    # its own guard.
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_oom_score_adjustment": "0",
}


def init(**arguments: Any) -> None:  # noqa: ANN401 - Ray's own
    """Call ``ray.init``; set the driver's handler of ``SIGTERM`` again, which Ray's C++ replaces.

    Raises:
        Exception: What Ray has raised.
    """
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with _private_to_driver():
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **arguments)
    except SystemExit as error:
        raise RuntimeError(str(error)) from error
    finally:
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, handler)


@contextmanager
def _private_to_driver() -> Iterator[None]:
    """Keep Ray from these actions when it starts or connects.

    - It would take ``SIGTERM``, which is the driver's.
    - Below a ``uv run`` it would start its workers by another one, in an environment without us.
    - It would keep and show the command line, which may contain a password.
    - It would print its processes' failures, logs and tracebacks between our own lines.
    """
    private = ray._private
    with (
        patch.object(private.utils, "set_sigterm_handler", lambda _handler: None),
        patch.object(private.utils, "get_entrypoint_name", lambda: "python -m orchestrator"),
        patch.object(private.ray_constants, "RAY_ENABLE_UV_RUN_RUNTIME_ENV", False),
        patch.object(private.worker, "listen_error_messages", lambda *_: None),
    ):
        yield


def connect(address: str, runtime_env: dict[str, Any] | None) -> None:
    """Connect to the cluster with its head at ``address``, ``HOST:PORT``.

    Raises:
        ConnectionError: Nothing listens there, or Ray does not answer.
    """
    logging.getLogger("ray").setLevel(logging.ERROR)
    host, _, port = address.rpartition(":")
    try:  # Ray would retry for minutes
        socket.create_connection((host.strip("[]"), int(port)), LISTENER_S).close()
    except OSError as error:
        raise ConnectionError(error.strerror or str(error)) from None
    init(address=address, runtime_env=runtime_env)


def shut_down() -> None:
    """Leave the cluster, and end it if it is our own.

    No garbage is collected meanwhile. Deleting an object reference in another thread asks Ray's
    core worker, which has ended by then: Ray ends the whole process with exit code 1.
    """
    gc.disable()
    try:
        ray.shutdown()
    finally:
        gc.enable()


def cluster_machine() -> Machine:
    """Return the nodes of an existing cluster that are alive."""
    nodes = []
    for node in ray.nodes():
        has: dict[str, float] = node["Resources"]
        if not node["Alive"] or "CPU" not in has:
            continue
        cpus, gpus = int(has["CPU"]), int(has.get("GPU", 0))
        kinds = [name.partition(":")[2] for name in has if name.startswith("accelerator_type:")]
        reserved = 1 if cpus >= DRIVER_FROM_CORES else 0
        nodes.append(
            Node(
                name=node["NodeManagerHostname"],
                cpus=cpus - reserved,
                gpus=gpus,
                gpu_name=kinds[0] if gpus and kinds else "",
                reserved_cpus=reserved,
            )
        )
    return Machine(nodes=tuple(nodes))
