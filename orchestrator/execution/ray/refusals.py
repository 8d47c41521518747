"""Reasons why Ray does not start on a machine, in words, and what to do."""

from __future__ import annotations

import os
import re
import resource
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from orchestrator.system.cgroup import Cgroups
from orchestrator.system.network import LOOPBACK

LEAST_FILES: Final = 128
"""Files that the driver and Ray have open at least."""
LEAST_TASKS: Final = 250
"""Processes and threads that the driver, Ray and a trial start at least."""
LEAST_ADDRESSES: Final = 8 * 2**30
"""Addresses that the driver has mapped at least; most of them are no memory."""

LOOPBACK_S: Final = 5.0
"""Longest that a connection of this machine with itself takes."""

_LOG_BYTES: Final = 20_000
_KNOWN: Final = re.compile(
    "Too many open files|Resource temporarily unavailable|No space left on device|"
    "Cannot allocate memory|Permission denied|Operation not permitted|can't start new thread",
    re.IGNORECASE,
)
"""What the kernel says where it refuses, in the logs of Ray's processes."""


_AGENT: Final = re.compile(r"one Ray agent failed, agent_name = ([a-z_]+)")
"""What a raylet says before it ends itself with an agent."""

_SLOW: Final = "Timed out waiting for file"
"""What a raylet says when it aborts since its agents have not come up within 20 s."""


class CannotStart(RuntimeError):
    """A Ray of our own that does not come up; the message says why in one sentence."""


def require_room() -> None:
    """Check the limits that Ray cannot start within: its own processes would abort.

    Raises:
        CannotStart: One of them is too small.
    """
    for refused in (_too_few_files, _too_few_tasks, _too_few_addresses, _no_loopback, _no_shell):
        if refusal := refused():
            raise CannotStart(refusal)


def _no_loopback() -> str:
    """Return why Ray's processes could not reach each other, or an empty string."""
    try:
        with socket.create_server((LOOPBACK, 0)) as here:
            socket.create_connection(here.getsockname(), LOOPBACK_S).close()
    except OSError as error:
        return f"{LOOPBACK} cannot be reached: {error.strerror or error}: `ip link set lo up`"
    return ""


def _no_shell() -> str:
    """Return why Ray's workers could not start, or an empty string: they are started by bash."""
    if shutil.which("bash"):
        return ""
    return (
        f"there is no bash in PATH={os.environ.get('PATH', '')}, and Ray starts its workers by it"
    )


def _too_few_files() -> str:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = soft if hard == resource.RLIM_INFINITY else max(soft, hard)  # Ray raises it itself
    if most == resource.RLIM_INFINITY or most >= LEAST_FILES:
        return ""
    return f"a process may open {most} files here, and Ray opens {LEAST_FILES}: ulimit -n 4096"


def _too_few_addresses() -> str:
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft >= LEAST_ADDRESSES:
        return ""
    allowed, needed = f"{soft / 2**30:.1f} GiB", f"{LEAST_ADDRESSES >> 30} GiB"
    return (
        f"`ulimit -v` allows a process {allowed} of addresses, and Ray with torch maps {needed}: "
        "raise it"
    )


def _too_few_tasks() -> str:
    """Return why too few processes and threads may be started, or an empty string."""
    for what, most, now in _limits_of_tasks():
        if most - now < LEAST_TASKS:
            return (
                f"{what} allows {most} processes and threads, of which {now} run, and Ray starts "
                f"{LEAST_TASKS}: raise it"
            )
    return ""


def _limits_of_tasks() -> Iterator[tuple[str, int, int]]:
    """Yield the limits on tasks: their names, how many are allowed, and how many there are."""
    most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if most != resource.RLIM_INFINITY and os.geteuid() != 0:  # root is above it
        yield "`ulimit -u`", most, _num_tasks_of_user()
    if (tasks := Cgroups().tasks()) is not None:
        yield "the control group (pids.max)", *tasks


def _num_tasks_of_user() -> int:
    own = 0
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.uids().real == os.getuid():
                own += process.num_threads()
    return own


def why_not(error: BaseException, folder: Path) -> str:
    """Return why Ray has not started: what the kernel refused, else what Ray says of it.

    Args:
        error: What Ray has raised.
        folder: Ray's folder, with the logs of its processes.
    """
    texts = (str(error), *_logs(folder))
    for text in texts:
        if known := _KNOWN.search(text):
            return f"the system refuses a process of Ray: {known[0]}"
    if "timed out" in str(error) or any(_SLOW in text for text in texts):
        return "it has not come up in time: the machine is slow or busy"
    if isinstance(error, TimeoutError):
        agents = (_AGENT.search(text) for text in _logs(folder))
        return str(error) + next((f", since its {each[1]} has" for each in agents if each), "")
    first = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return f"Ray says: {first[:200]}"


def _logs(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("session_*/logs/*")):
        with suppress(OSError):
            if path.suffix in (".out", ".err", ".log") and not path.is_symlink():
                yield path.read_bytes()[-_LOG_BYTES:].decode(errors="replace")
