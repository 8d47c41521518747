"""Ray itself: its settings, starting it or connecting to it, its nodes, leaving it."""

from __future__ import annotations

import gc
import logging
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import psutil
import ray

from orchestrator.execution.core_policy import DRIVER_FROM_CORES
from orchestrator.execution.placement import local_machine
from orchestrator.machine import Machine, Node
from orchestrator.system.gpus import visible_gpus

LISTENER_S = 5.0
"""An address that does not answer within this time has no cluster."""

PROCESSES_S = 10.0
"""Ray has started its processes by then, or fails with a message of its own."""

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
    # environment of their own and can use none of them.
    "RAY_prestart_worker_first_driver": "false",
    # Ray's own default is 15. On a cluster an actor holds the fork servers, and trials inherit
    # its niceness: they would yield to everything else on their cores.
    "RAY_worker_niceness": "0",
    # Ray's own guard would kill a supervisor, whichever trial has the memory. Each trial has a
    # guard of its own.
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_oom_score_adjustment": "0",
}
# Messages alone go through it. Ray's own choice is a share of the node's memory.
_OBJECT_STORE_BYTES = 128 * 2**20


def start_local() -> None:
    """Start a Ray of our own on this machine."""
    _be_quiet()
    gpus = [gpu.uuid for gpu in visible_gpus()]
    with _without_pollers(), _in_own_process_groups(), _visible(gpus):
        ray.init(
            address="local",  # never a cluster that happens to run here: that takes --address
            num_cpus=local_machine().cpus,
            num_gpus=len(gpus),
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE_BYTES,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )


def await_processes() -> None:
    """Wait until :func:`start_local`, in another thread, has started all of Ray's processes.

    From then on ``ray.init`` only polls, once a second, whether they have come up. Other work of
    this process fits in there; before, it would delay their start. The raylet is the last one.
    """
    deadline = time.monotonic() + PROCESSES_S
    driver = psutil.Process()
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            if any(child.name() == "raylet" for child in driver.children()):
                return
        time.sleep(0.03)


@contextmanager
def _without_pollers() -> Iterator[None]:
    """Keep ``ray.init`` from starting an autoscaler and a reader of the workers' logs.

    One machine has nothing to scale, and the logs go nowhere: both would poll beside the
    trials. ``RayParams`` has the switches, for ``ray start``; ``ray.init`` has no argument for
    them.
    """
    params: Any = ray._private.parameter.RayParams
    quiet = partial(params, no_monitor=True, include_log_monitor=False)
    with _replaced(ray._private.parameter, "RayParams", quiet):
        yield


@contextmanager
def _in_own_process_groups() -> Iterator[None]:
    """Have Ray's processes started in process groups of their own.

    A signal to the driver's group, as ``timeout``, a job's end or a terminal's Ctrl-C sends it,
    would end them before the driver has taken the trials down. They end with the driver all the
    same: Ray has the kernel kill them at their parent's death.
    """
    popen = ray._private.services.ConsolePopen
    with _replaced(ray._private.services, "ConsolePopen", partial(popen, process_group=0)):
        yield


@contextmanager
def _replaced(module: Any, name: str, value: object) -> Iterator[None]:  # noqa: ANN401
    """Replace a module's attribute for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextmanager
def _visible(gpus: Sequence[str]) -> Iterator[None]:
    """Have ``CUDA_VISIBLE_DEVICES`` name these, if there are any, for all that Ray starts.

    Ray takes the list from there, and gives its actors entries of it.
    """
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    try:
        yield
    finally:
        if gpus and before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        elif before is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def connect(address: str, runtime_env: dict[str, Any] | None) -> None:
    """Connect to the cluster at ``address``.

    Args:
        address: Address of its head, or a word that Ray resolves, such as ``auto``.
        runtime_env: Runtime environment that brings the project's code to its workers.

    Raises:
        ConnectionError: Nothing listens there.
    """
    _be_quiet()
    _require_listener(address)
    ray.init(
        address=address,
        log_to_driver=False,
        logging_level=logging.ERROR,
        runtime_env=runtime_env,
    )


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
    for name in ("ray", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _require_listener(address: str) -> None:
    """Ask the address itself first: Ray would go on trying for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return  # "auto" and the like are Ray's to resolve
    try:
        socket.create_connection((host, int(port)), timeout=LISTENER_S).close()
    except OSError as error:
        raise ConnectionError(error.strerror or str(error)) from None
