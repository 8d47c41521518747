"""GPUs of this node that may be used, each by its UUID.

An index is ambiguous: NVML counts every GPU, CUDA those that a process may use, and where
``CUDA_VISIBLE_DEVICES`` is set it counts those.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


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


def _described(handle: Any) -> Gpu:  # noqa: ANN401 - NVML's own handle
    import pynvml

    uuid, name = pynvml.nvmlDeviceGetUUID(handle), pynvml.nvmlDeviceGetName(handle)
    return Gpu(uuid=str(uuid), name=str(name))
