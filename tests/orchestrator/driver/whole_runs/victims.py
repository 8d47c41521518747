"""Processes of a running sweep, by what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import psutil

_FORK_SERVER: Final = "orchestrator.execution.process.forkserver"


def _is_supervisor(command: str) -> bool:
    """Return True for a trial's actor, which Ray calls by its class, or by what it runs."""
    return "TrialSupervisor" in command or "ResourceTrainable.train" in command


def _command(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


def _parent(process: psutil.Process) -> psutil.Process | None:
    return process.parent()


def _is_fork_server(process: psutil.Process) -> bool:
    """Return True for the server itself: its children have its command line too."""
    parent = _parent(process)
    return _FORK_SERVER in _command(process) and (
        parent is None or _FORK_SERVER not in _command(parent)
    )


def _is_training(process: psutil.Process) -> bool:
    parent = _parent(process)
    return parent is not None and _is_fork_server(parent) and not _is_fork_server(process)


def _is_loader_worker(process: psutil.Process) -> bool:
    parent = _parent(process)
    return parent is not None and _is_training(parent)


def _is_agent(process: psutil.Process) -> bool:
    parent = _parent(process)
    below_raylet = parent is not None and parent.name() == "raylet"
    return below_raylet and "Agent" in _command(process).replace("agent.py", "Agent")


VICTIMS: Final[Mapping[str, Callable[[psutil.Process], bool]]] = {
    "supervisor": lambda process: _is_supervisor(_command(process)),
    "training process": _is_training,
    "fork server": _is_fork_server,
    "loader worker": _is_loader_worker,
    "MLflow mirror": lambda process: "orchestrator.tracking.mlflow" in _command(process),
    "raylet": lambda process: process.name() == "raylet",
    "agent": _is_agent,
    "GCS": lambda process: process.name() == "gcs_server",
}
"""How each kind of victim is known, among the processes below a driver."""


def victims_of(driver: int, kind: str) -> list[psutil.Process]:
    """Return the processes of a kind that run now, below a driver.

    Args:
        driver: Its process id.
        kind: Name in :data:`VICTIMS`, or ``"driver"``.
    """
    try:
        root = psutil.Process(driver)
        if kind == "driver":
            return [root]
        below = root.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    found = []
    for process in below:
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and VICTIMS[kind](process):
                found.append(process)
    return found
