"""GPUs of this node that may be used, each by its UUID; parts of one, by NVIDIA's MPS.

An index is ambiguous: NVML counts every GPU, CUDA those that a process may use, and where
``CUDA_VISIBLE_DEVICES`` is set it counts those.

By MPS several processes compute on one GPU at a time; without it they take turns on the whole GPU.
No card has run it here yet: its tests have a control program of their own.
"""

import atexit
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from orchestrator.errors import SweepError
from orchestrator.system.lifeline import MARK


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU, or a part of one (MIG).

    Attributes:
        uuid: Its name for CUDA and NVML, in full.
        name: Its model.
    """

    uuid: str
    name: str


def visible_gpus() -> list[Gpu]:
    """Return the GPUs that this process may use; none where no NVIDIA driver answers."""
    gpus = _permitted()
    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    if names is None:
        return gpus
    visible: list[Gpu] = []
    for name in names.split(","):
        if (gpu := _find(name.strip(), gpus)) is None:
            break  # as in CUDA, a name of no GPU ends the list
        visible.append(gpu)
    return visible


def least_memory_gib() -> float:
    """Return the memory of the smallest GPU that may be used; 0 where none states it."""
    import pynvml

    with suppress(pynvml.NVMLError):
        return min((_memory_bytes(gpu.uuid) for gpu in visible_gpus()), default=0) / 2**30
    return 0.0


def in_full(names: Sequence[str]) -> list[str]:
    """Return the UUIDs of GPUs of this node; a name of none of them stays as it is.

    Args:
        names: Indices among the GPUs that may be used here, or UUIDs.
    """
    gpus = _permitted() if names else []
    return [gpu.uuid if (gpu := _find(name, gpus)) else name for name in names]


def _permitted() -> list[Gpu]:
    """Return the GPUs that this container or user may use, in NVML's order."""
    import pynvml

    gpus = []
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        for index in range(pynvml.nvmlDeviceGetCount()):
            # NVML also counts what this container or user may not use.
            with suppress(pynvml.NVMLError):
                gpus.append(_described(pynvml.nvmlDeviceGetHandleByIndex(index)))
    return gpus


def _find(name: str, gpus: Sequence[Gpu]) -> Gpu | None:
    """Return the GPU that CUDA takes ``name`` for: an index, a UUID or the beginning of one."""
    if name.isdecimal():
        return gpus[int(name)] if int(name) < len(gpus) else None
    if name.startswith("GPU-"):
        # As in CUDA, the beginning of more than one UUID names none of them.
        matches = [gpu for gpu in gpus if gpu.uuid.startswith(name)]
        return matches[0] if len(matches) == 1 else None
    if name.startswith("MIG-"):  # a part of a GPU, which has no index
        import pynvml

        with suppress(pynvml.NVMLError):
            return _described(pynvml.nvmlDeviceGetHandleByUUID(name))
    return None


def _memory_bytes(gpu: str) -> int:
    import pynvml

    pynvml.nvmlInit()
    return int(pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByUUID(gpu)).total)


def _described(handle: Any) -> Gpu:  # noqa: ANN401 - NVML's own handle
    import pynvml

    uuid, name = pynvml.nvmlDeviceGetUUID(handle), pynvml.nvmlDeviceGetName(handle)
    return Gpu(uuid=str(uuid), name=str(name))


# -- parts of a GPU

CONTROL: Final = "nvidia-cuda-mps-control"
_PIPES, _LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
_REFUSED_WITHIN_S: Final = 0.5


def has_mps() -> bool:
    """Return True where MPS is installed, or runs already for this user."""
    return _PIPES in os.environ or shutil.which(CONTROL) is not None


def start_mps(folder: Path) -> None:
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
        lines = log.read_text(errors="replace").strip().splitlines() or ["it prints nothing"]
        raise SweepError(
            f"trials are to share a GPU, but {CONTROL} does not start: {lines[-1]}",
            "give each trial a whole GPU, or start MPS and name it by CUDA_MPS_PIPE_DIRECTORY",
        )
    atexit.register(process.terminate)
    os.environ.update(ways)


def limits_of(part: float, gpu: str) -> dict[str, str]:
    """Return the variables by which a process has a part of a GPU: processors and memory.

    Args:
        part: Its share.
        gpu: The GPU's UUID.
    """
    return {
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": f"{100 * part:.0f}",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={int(part * _memory_bytes(gpu) / 2**20)}M",
    }
