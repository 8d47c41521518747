"""NVIDIA's MPS, by which several processes compute on one GPU at a time.

Without it they take turns on the whole GPU. No card has run this module yet: its tests have a
control program of their own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from orchestrator.errors import SweepError
from orchestrator.system.lifeline import MARK

CONTROL: Final = "nvidia-cuda-mps-control"
_PIPES, _LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
_REFUSED_WITHIN_S: Final = 0.5


def is_here() -> bool:
    """Return True where MPS is installed, or runs already for this user."""
    return _PIPES in os.environ or shutil.which(CONTROL) is not None


def start(folder: Path) -> None:
    """Start MPS for this process and what it starts, unless it runs already; it ends with this one.

    Args:
        folder: The driver's private one; if the driver is killed, its fork servers end MPS.

    Raises:
        SweepError: It does not start.
    """
    if _PIPES in os.environ:
        return
    place = folder / "mps"
    place.mkdir()
    log = place / "output"
    ways = {_PIPES: str(place), _LOGS: str(place)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [CONTROL, "-f"], env={**os.environ, **ways, MARK: str(folder)}, process_group=0,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REFUSED_WITHIN_S)
        said = log.read_text(errors="replace").strip().splitlines() or ["it prints nothing"]
        raise SweepError(
            f"trials are to share a GPU, but {CONTROL} does not start: {said[-1]}",
            "give each trial a whole GPU, or start MPS and name it by CUDA_MPS_PIPE_DIRECTORY",
        )
    atexit.register(process.terminate)
    os.environ.update(ways)


def limits(part: float, gpu: str) -> dict[str, str]:
    """Return the variables by which a process has a part of a GPU: processors and memory.

    Args:
        part: Its share.
        gpu: The GPU's UUID.
    """
    import pynvml

    memory = dict[str, str]()
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        total = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByUUID(gpu)).total
        memory = {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={int(part * total / 2**20)}M"}
    return {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": f"{100 * part:.0f}", **memory}
