"""Ray's own side of an executor: how it is set, started or connected to, and its nodes."""

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
"""An address that does not answer by then has no cluster."""

PROCESSES_S = 10.0
"""Ray has started its processes by then, or something is wrong that it will say."""

TUNE_SETTINGS = {
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "100000",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    # How many are asked for ahead is the adapter's to say. Tune's own limit is one, and so are
    # actors that start one after the other.
    "TUNE_MAX_PENDING_TRIALS_PG": "1000",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    # Tune's actors have an environment of their own and take none of the workers that Ray starts
    # ahead, one a core, each half a second of it.
    "RAY_prestart_worker_first_driver": "false",
    # Ray's own default is 15: a trial would yield to everything else on its cores.
    "RAY_worker_niceness": "0",
    # Ray's own guard kills a supervisor, whichever trial has the memory. Trials have their own.
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_oom_score_adjustment": "0",
}
_OBJECT_STORE_BYTES = 128 * 2**20


def start_local() -> None:
    """Starts a Ray of our own on this machine."""
    _be_quiet()
    gpus = [gpu.uuid for gpu in visible_gpus()]
    with _nothing_beside_trials(), _no_signal_of_ours(), _sees(gpus):
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
    """Returns once :func:`start_local`, in another thread, has all of Ray's processes started.

    From then on it waits for them to come up, and looks once a second whether they have:
    what else this process has to do belongs after their start.
    """
    deadline = time.monotonic() + PROCESSES_S
    driver = psutil.Process()
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            if any(child.name() == "raylet" for child in driver.children()):
                return
        time.sleep(0.03)


@contextmanager
def _nothing_beside_trials() -> Iterator[None]:
    """Within it ``ray.init`` starts neither an autoscaler nor a reader of the workers' logs.

    One machine has nothing to scale, and the logs go nowhere: both would poll beside the
    trials. Ray has the switches, for the head of a cluster, and does not hand them on.
    """
    made: Any = ray._private.parameter.RayParams
    quiet = partial(made, no_monitor=True, include_log_monitor=False)
    with _put(ray._private.parameter, "RayParams", quiet):
        yield


@contextmanager
def _no_signal_of_ours() -> Iterator[None]:
    """Within it Ray's processes are started in groups of their own.

    A SIGTERM to the driver's group, as ``timeout`` or a job's end sends it, would end them
    before the driver has taken the trials down. They end with the driver all the same.
    """
    made = ray._private.services.ConsolePopen
    with _put(ray._private.services, "ConsolePopen", partial(made, process_group=0)):
        yield


@contextmanager
def _put(module: Any, name: str, value: object) -> Iterator[None]:  # noqa: ANN401 - any module
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextmanager
def _sees(gpus: Sequence[str]) -> Iterator[None]:
    """Within it ``CUDA_VISIBLE_DEVICES`` names these, if there are any.

    So does all that Ray starts see them, which numbers them by itself.
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
    """Connects to the cluster at ``address``.

    Args:
        address: Where its head listens, or what Ray makes of ``auto`` and the like.
        runtime_env: How the project's code reaches its workers.

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
    """Leaves the cluster, and ends it if it is our own.

    Where another thread collects garbage meanwhile, and an object reference is in it, Ray ends
    the whole process with exit code 1: its own deletion asks a core worker that has gone.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        ray.shutdown()
    finally:
        if collects:
            gc.enable()


def cluster_machine(*, is_our_own: bool) -> Machine:
    """The nodes that are alive, of a Ray that we started or of another's cluster."""
    alive = [node for node in ray.nodes() if node["Alive"] and "CPU" in node["Resources"]]
    return Machine(nodes=tuple(_node(node, is_our_own=is_our_own) for node in alive))


def _node(node: dict[str, Any], *, is_our_own: bool) -> Node:
    resources = node["Resources"]
    cpus, gpus = int(resources["CPU"]), int(resources.get("GPU", 0))
    kinds = [name.split(":", 1)[1] for name in resources if name.startswith("accelerator_type:")]
    if is_our_own:
        kept = local_machine().nodes[0].kept_cpus  # our own Ray was not given them
    else:
        kept = 1 if cpus >= DRIVER_FROM_CORES else 0
    return Node(
        name=node["NodeManagerHostname"],
        cpus=cpus if is_our_own else cpus - kept,
        gpus=gpus,
        gpu_name=kinds[0] if gpus and kinds else "",
        kept_cpus=kept,
    )


def _be_quiet() -> None:
    for name in ("ray", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _require_listener(address: str) -> None:
    """Asks the address itself first: Ray would go on trying for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return  # "auto" and the like are Ray's to resolve
    try:
        socket.create_connection((host, int(port)), timeout=LISTENER_S).close()
    except OSError as error:
        raise ConnectionError(error.strerror or str(error)) from None
