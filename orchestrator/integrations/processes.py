"""Set-up of a training process, and the error of a framework that is not installed."""

from __future__ import annotations

import os

import torch

from orchestrator.errors import SweepError
from orchestrator.measurement.run import Run


class MissingLibraryError(SweepError, ImportError):
    """Framework that is not installed."""


def missing(absent: ModuleNotFoundError, module: str, *libraries: str) -> ImportError:
    """Return what a module of this folder raises where one of its libraries cannot be imported.

    Args:
        absent: Error of the import.
        module: Last part of the module's name.
        libraries: What it needs. Where they need something else, ``absent`` itself is the answer.
    """
    library = (absent.name or "").partition(".")[0]
    if library not in libraries:
        return absent
    return MissingLibraryError(
        f"orchestrator.integrations.{module} needs {library}, which is not installed here: "
        f"pip install {' '.join(libraries)}"
    )


def set_up(run: Run) -> None:
    """Give the process the threads of its trial, and its ranks their network."""
    torch.set_num_threads(run.num_cores)
    if os.environ.get("MASTER_ADDR") == "127.0.0.1":
        # gloo would look up the host's own name, which need not resolve.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
