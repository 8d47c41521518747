"""Places of a graph and of its features, which decide where neighbours and rows are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from orchestrator import Machine, knobs, systems
from trainables.settings import ProcessKnobs, needs_cuda, uses_cuda

Sampling = Literal["cpu", "gpu", "uva"]
Placement = Literal["memmap", "host", "pinned", "device"]


@knobs
class PlacementKnobs:
    """Knobs of what is sampled from a graph, and where."""

    sampling: Sampling = systems(
        default="cpu",
        doc="where neighbours are drawn, the same ones in each place: by the loader; on the GPU, "
        "from a graph in its memory; or on the GPU, from a graph in page-locked memory",
        applies=lambda config: config.is_sampled(),
    )
    feature_placement: Placement = systems(
        default="memmap",
        doc="features in the shared file; in memory; page-locked, read by the GPU; on the GPU",
        applies=lambda config: config.is_sampled(),
    )
    cache_gib: float = systems(
        default=0.0,
        ge=0,
        unit="GiB",
        doc="memory of the GPU for the features of the nodes with the most neighbours; the step "
        "looks up all rows, and takes only the others from feature_placement",
        applies=lambda config: config.is_sampled() and config.feature_placement != "device",
    )

    def is_sampled(self) -> bool:
        """Return True if batches are sampled; override it where they need not be."""
        return True


def _cache_needs_cuda(config: PlacementKnobs, machine: Machine) -> str | None:
    if config.cache_gib and isinstance(config, ProcessKnobs) and not uses_cuda(config, machine):
        return "cache_gib > 0 needs a GPU: on the CPU rows are in its memory already"
    return None


PLACEMENT_CONSTRAINTS = (
    needs_cuda("sampling", "gpu", "uva"),
    needs_cuda("feature_placement", "pinned", "device"),
    _cache_needs_cuda,
)
"""Constraints of :class:`PlacementKnobs`."""


def placed(features: Tensor, placement: Placement, device: torch.device) -> Tensor:
    """``features`` where they are to be looked up.

    Args:
        features: The memory-mapped table, ``(num_nodes, features)``.
        placement: ``memmap``: as it is, in pages shared with every other trial of the node.
            ``host``: read into memory of this process, which its loader workers share.
            ``pinned``: likewise, page-locked, and seen by the GPU as its memory,
            which it reads row by row over the bus. ``device``: copied to the GPU.
        device: Device of the training; a GPU for the last two.

    Returns:
        A tensor on the CPU for the first two, on the device for the others.

    Raises:
        MemoryError: They do not fit on the GPU.
    """
    match placement:
        case "memmap":
            return features
        case "host":
            return features.clone()
        case "pinned":
            return _seen_by_gpu(features, device)
        case "device":
            require_room("feature_placement=device", features.nbytes, device)
            return features.to(device)


def graph_for(sampling: Sampling, arrays: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """A graph's arrays where ``device`` samples from them; ``sampling`` is ``gpu`` or ``uva``.

    Raises:
        MemoryError: They do not fit on the GPU.
    """
    if sampling == "uva":
        return [_seen_by_gpu(array, device) for array in arrays]
    require_room("sampling=gpu", sum(array.nbytes for array in arrays), device)
    return [array.to(device) for array in arrays]


def require_room(setting: str, num_bytes: int, device: torch.device) -> None:
    """Check that a GPU has room: a trial that fails this is infeasible, and the run continues.

    Raises:
        MemoryError: It has not.
    """
    if num_bytes > (free := free_bytes(device)):
        needed = f"{setting} needs {num_bytes / 2**30:.4g} GiB"
        raise MemoryError(f"{needed} on {device}, where {free / 2**30:.4g} GiB are free")


def free_bytes(device: torch.device) -> float:
    """Free memory of a GPU; of a CPU no limit is known here."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else np.inf


def _seen_by_gpu(array: Tensor, device: torch.device) -> Tensor:
    if device.type == "cpu":  # sees all of the host's memory
        return array
    # Page-locked memory has one address for the host and for every GPU (CUDA's unified virtual
    # addressing), so it can be handed to the GPU as an array that is there already.
    with torch.cuda.device(device):
        return torch.as_tensor(_CudaArray(array.pin_memory()), device=device)


class _CudaArray:
    """CUDA array interface of page-locked memory, which it keeps alive."""

    def __init__(self, pinned: Tensor) -> None:
        self._pinned = pinned
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": tuple(pinned.shape),
            "typestr": pinned.numpy().dtype.str,
            "data": (pinned.data_ptr(), False),
            "strides": None,
            "version": 3,
        }
