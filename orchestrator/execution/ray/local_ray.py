"""The driver's own Ray: private, on the loopback interface, its files in the driver's folder.

``ray.init`` has no argument for most of that, so parts of Ray are replaced while it starts.
"""

import logging
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import ray

from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.connection import init
from orchestrator.execution.ray.watchdog import first_processes
from orchestrator.system.gpus import visible_gpus
from orchestrator.system.lifeline import MARK, kill_groups

_LOOPBACK: Final = "127.0.0.1"
_OBJECT_STORE_BYTES: Final = 128 * 2**20
"""Only messages go through it. Ray's own choice is a share of the node's memory."""

_FOR_THE_DRIVER: Final = {signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT}
"""Signals to a whole job that the driver acts on, and that would end Ray's processes meanwhile.
SIGTERM is not among them: Ray ends its own processes by it."""


class CannotStart(RuntimeError):
    """A local Ray that does not start; the message gives the reason in one sentence."""


def start_local(folder: Path) -> None:
    """Start our own Ray on this machine.

    Args:
        folder: The driver's private one. Ray's files are below it, its token and sockets included:
            Ray opens the folder that it receives to all users.

    Raises:
        CannotStart: It does not come up; nothing of it is left.
    """
    place = folder / "ray"
    place.mkdir()
    logging.getLogger("ray").setLevel(logging.ERROR)
    gpus = [gpu.uuid for gpu in visible_gpus()]
    try:
        with _set_up(place, gpus):
            init(
                address="local",  # never a cluster that happens to run here: that takes --address
                num_cpus=local_machine().cpus,
                num_gpus=len(gpus),
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                _temp_dir=str(place),
            )
    except BaseException as error:
        kill_groups(each.pid for each in first_processes())
        if not isinstance(error, Exception):  # a signal
            raise
        text = str(error).strip() or type(error).__name__
        raise CannotStart(text.splitlines()[0]) from error


@contextmanager
def _set_up(folder: Path, gpus: Sequence[str]) -> Iterator[None]:
    private = ray._private
    parameters = private.parameter.RayParams
    # Without an autoscaler and a reader of the workers' logs: one machine has nothing to scale, and
    # the logs go nowhere. Both would poll during the trials. The sockets have short names: those
    # that Ray makes are below a folder with a long one.
    more = {
        "no_monitor": True,
        "include_log_monitor": False,
        "node_ip_address": _LOOPBACK,
        "plasma_store_socket_name": str(folder / "plasma"),
        "raylet_socket_name": str(folder / "raylet"),
    }
    with (
        patch.object(private.parameter, "RayParams", lambda **given: parameters(**given | more)),
        patch.object(private.services, "ConsolePopen", _popen),
        # Without its pages Ray would start the dashboard's process all the same, and wait for it.
        patch.object(private.services, "start_api_server", lambda *_, **_more: (None, None)),
        patch.dict(os.environ),
    ):
        # The user's tokens are for another Ray. Without a mode Ray expects a token for a local one.
        for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_MODE"):
            os.environ.pop(name, None)
        os.environ["RAY_AUTH_TOKEN_PATH"] = _new_token(folder)
        os.environ[MARK] = str(folder.parent)  # if the driver is killed its fork servers end them
        if gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        yield


def _popen(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
    """Start a Ray process in a separate process group, with some signals blocked.

    A signal to the driver's group, as ``timeout``, a job's end or a terminal's Ctrl-C sends it,
    would end it before the driver has taken the trials down. It ends with the driver all the
    same: Ray has the kernel kill it at its parent's death.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_DRIVER)  # it inherits the mask
    try:
        return subprocess.Popen(*args, process_group=0, **kwargs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _new_token(folder: Path) -> str:
    """Return the file of a new token for Ray, which this user alone can read."""
    path = folder / "token"
    path.touch(0o600, exist_ok=False)
    path.write_text(secrets.token_hex(32))
    raylet: Any = ray._raylet
    raylet.AuthenticationTokenLoader.instance().reset_cache()
    return str(path)
