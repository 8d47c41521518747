"""A Ray of the driver's own: private, on the loopback interface, its files in the driver's folder.

``ray.init`` has no argument for most of that, so parts of Ray are replaced while it starts.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import ray

from orchestrator.execution.placement import local_machine
from orchestrator.execution.process.leftovers import MARK, kill_groups
from orchestrator.execution.ray.apart import init_apart
from orchestrator.execution.ray.watchdog import first_processes
from orchestrator.repository import package_path
from orchestrator.system.gpus import visible_gpus

PROCESSES_S: Final = 10.0
"""Ray has started its processes by then, or fails with a message."""

_LOOPBACK: Final = "127.0.0.1"
_OBJECT_STORE_BYTES: Final = 128 * 2**20
"""Messages alone go through it. Ray's own choice is a share of the node's memory."""

_FOR_THE_DRIVER: Final = {signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT}
"""Signals to a whole job that the driver acts on, and that would end Ray's processes meanwhile.
SIGTERM is not among them: Ray ends its own processes by it."""

_OF_CLUSTERS: Final = (
    "RAY_JOB_CONFIG_JSON_ENV_VAR", "RAY_OVERRIDE_RESOURCES", "RAY_RUNTIME_ENV_HOOK",
    "RAY_REDIS_ADDRESS", "RAY_gcs_storage", "RAY_gcs_storage_path", "RAY_USE_TLS",
)  # fmt: skip
"""Variables of a user's cluster, or of the job in it that this process is."""

_REFUSAL: Final = re.compile(
    "Too many open files|Resource temporarily unavailable|No space left on device|"
    "Cannot allocate memory|Permission denied|Operation not permitted|can't start new thread",
    re.IGNORECASE,
)
"""Messages of a kernel that refuses something, in the logs of Ray's processes."""
_LOG_BYTES: Final = 20_000


class CannotStart(RuntimeError):
    """A local Ray that does not start; the message gives the reason in one sentence."""


def start_local(folder: Path, *, is_over: Callable[[], bool] = lambda: False) -> Callable[[], None]:
    """Start a Ray of our own on this machine.

    Args:
        folder: The driver's private one. Ray's files are below it, its token and sockets included:
            Ray opens the folder that it is given to all users.
        is_over: Whether it is no longer needed.

    Returns:
        A function to call once it has been shut down.

    Raises:
        CannotStart: It does not come up; nothing of it is left.
    """
    place = folder / "ray"
    place.mkdir()
    logging.getLogger("ray").setLevel(logging.ERROR)
    gpus = [gpu.uuid for gpu in visible_gpus()]

    def init() -> None:
        with _set_up(place, gpus):
            ray.init(
                address="local",  # never a cluster that happens to run here: that takes --address
                num_cpus=local_machine().cpus,
                num_gpus=len(gpus),
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _temp_dir=str(place),
            )

    processes = _Processes(is_over)
    try:
        return init_apart(init, processes.refusal)
    except Exception as error:
        processes.kill()
        raise CannotStart(why_not(error, place)) from error
    except BaseException:  # a signal
        processes.kill()
        raise


class _Processes:
    """Ray's first processes while they come up."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self._is_over = is_over
        self._seen: dict[int, str] = {}

    def refusal(self) -> str:
        """Return why they are waited for no longer, or an empty string."""
        alive = first_processes()
        if dead := [name for pid, name in self._seen.items() if pid not in alive]:
            return f"its {dead[0]} has died"
        self._seen |= alive
        return "it was interrupted" if self._is_over() else ""

    def kill(self) -> None:
        """Kill them, and what is left of those that have died: Ray's agents outlive them."""
        kill_groups(self._seen.keys() | first_processes().keys())


@contextmanager
def _set_up(folder: Path, gpus: Sequence[str]) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(private_to_driver())
        stack.enter_context(_replaced(ray._private.parameter, "RayParams", _params(folder)))
        stack.enter_context(_replaced(ray._private.services, "ConsolePopen", _popen))
        stack.enter_context(_replaced(ray._private.services, "start_api_server", _no_dashboard))
        stack.enter_context(_replaced(ray._private.node, "wait_for_persisted_port", _await_port))
        stack.enter_context(_imports_of_workers())
        changes = {**_token(folder), **_visible(gpus), **dict.fromkeys(_OF_CLUSTERS)}
        changes[MARK] = str(folder.parent)  # where the driver is killed its fork servers end them
        stack.enter_context(environment(changes))
        yield


@contextmanager
def private_to_driver() -> Iterator[None]:
    """Keep Ray from what it does where it starts or connects.

    - It would take ``SIGTERM``, which is the driver's.
    - Below an ``uv run`` it would start its workers by another, in an environment without us.
    - It would keep and show the command line, which may hold a password.
    - It would print what befalls its processes, logs and tracebacks included, amid our own lines.
    """
    with (
        _replaced(ray._private.utils, "set_sigterm_handler", lambda _handler: None),
        _replaced(ray._private.utils, "get_entrypoint_name", lambda: "python -m orchestrator"),
        _replaced(ray._private.ray_constants, "RAY_ENABLE_UV_RUN_RUNTIME_ENV", False),
        _replaced(ray._private.worker, "listen_error_messages", lambda *_: None),
    ):
        yield


def _params(folder: Path) -> Any:  # noqa: ANN401 - a class of Ray's
    """Return a maker of Ray's parameters.

    Without an autoscaler and a reader of the workers' logs: one machine has nothing to scale, and
    the logs go nowhere. Both would poll during the trials. The sockets have short names: those
    that Ray makes are below a folder with a long one.
    """
    params = ray._private.parameter.RayParams

    def make(**given: Any) -> Any:  # noqa: ANN401
        return params(
            **given
            | {
                "no_monitor": True,
                "include_log_monitor": False,
                "node_ip_address": _LOOPBACK,
                "plasma_store_socket_name": str(folder / "plasma"),
                "raylet_socket_name": str(folder / "raylet"),
            }
        )

    return make


@contextmanager
def _imports_of_workers() -> Iterator[None]:
    """Have Ray's workers import from where this package is.

    Ray would put the current folder before Python's own modules: a file there may hide one.
    """
    name = "_py_driver_sys_path"
    folders = property(lambda _job: package_path(), lambda _job, _folders: None)
    setattr(ray.job_config.JobConfig, name, folders)
    try:
        yield
    finally:
        delattr(ray.job_config.JobConfig, name)


def _no_dashboard(*_args: object, **_kwargs: object) -> tuple[None, None]:
    """Start none: without its pages Ray would start its process all the same, and wait for it.

    Ray takes this for one that has failed to start, and continues without it.
    """
    return None, None


def _await_port(*where: str, timeout_ms: int) -> int:
    """Wait for the port of a process as Ray does, which keeps Python's lock all the time.

    No signal would be acted on meanwhile, nor the death of the process be noticed.
    """
    raylet: Any = ray._raylet
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            port: int = raylet.wait_for_persisted_port(*where, timeout_ms=0)
        except RuntimeError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.02)
        else:
            return port


def _popen(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
    """Start a process of Ray's in a separate process group, with some signals blocked.

    A signal to the driver's group, as ``timeout``, a job's end or a terminal's Ctrl-C sends it,
    would end it before the driver has taken the trials down. It ends with the driver all the
    same: Ray has the kernel kill it at its parent's death.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_DRIVER)  # it inherits the mask
    try:
        return subprocess.Popen(*args, process_group=0, **kwargs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _token(folder: Path) -> dict[str, str | None]:
    """Return the environment in which Ray takes a new token, which this user alone can read."""
    path = folder / "token"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
    raylet: Any = ray._raylet
    raylet.AuthenticationTokenLoader.instance().reset_cache()
    # The user's own are of another Ray. Without a mode Ray takes a local one to be with a token.
    return {"RAY_AUTH_TOKEN_PATH": str(path), "RAY_AUTH_TOKEN": None, "RAY_AUTH_MODE": None}


def _visible(gpus: Sequence[str]) -> dict[str, str | None]:
    """Return the environment from which Ray takes the list of GPUs, and gives its actors some."""
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {}


@contextmanager
def environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Change environment variables for a while; None removes one."""
    before = {name: os.environ.get(name) for name in changes}
    _change(changes)
    try:
        yield
    finally:
        _change(before)


def _change(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _replaced(module: Any, name: str, value: object) -> Iterator[None]:  # noqa: ANN401
    """Replace a module's attribute for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def await_processes() -> None:
    """Wait until :func:`start_local`, in another thread, has started all of Ray's processes.

    From then on ``ray.init`` only polls, once a second, whether they have come up. Other work of
    this process fits in there; before, it would delay their start. The raylet is the last one.
    """
    deadline = time.monotonic() + PROCESSES_S
    while time.monotonic() < deadline and "raylet" not in first_processes().values():
        time.sleep(0.03)


def why_not(error: BaseException, folder: Path) -> str:
    """Return why Ray has not started: the kernel's refusal, else Ray's own message.

    Args:
        error: What Ray has raised.
        folder: Ray's folder, with the logs of its processes.
    """
    for text in (str(error), *_logs(folder)):
        if known := _REFUSAL.search(text):
            return f"the system refuses a process of Ray: {known[0]}"
    first = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return first[:200]


def _logs(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("session_*/logs/*.*")):
        with suppress(OSError):
            yield path.read_bytes()[-_LOG_BYTES:].decode(errors="replace")
