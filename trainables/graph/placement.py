"""Placement of the feature table, which decides where its rows are looked up."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

Placement = Literal["memmap", "host", "pinned", "device"]


def placed(features: Tensor, placement: Placement, device: torch.device) -> Tensor:
    """``features`` where they are to be looked up.

    Args:
        features: The memory-mapped table, ``(num_nodes, features)``.
        placement: ``memmap``: as it is, in pages shared with every other trial of the node.
            ``host``: read into memory of this process, which its loader workers share.
            ``pinned``: likewise, page-locked, and seen by the GPU as its memory,
            which it reads row by row over the bus. ``device``: copied to the GPU.
        device: Where training happens; a GPU for the last two.

    Returns:
        A tensor on the CPU for the first two, on the GPU for the others.
    """
    match placement:
        case "memmap":
            return features
        case "host":
            return features.clone()
        case "pinned":
            return _seen_by_gpu(features.pin_memory(), device)
        case "device":
            return features.to(device)


def _seen_by_gpu(pinned: Tensor, device: torch.device) -> Tensor:
    # Page-locked memory has one address for the host and for every GPU (CUDA's unified virtual
    # addressing), so it can be handed to the GPU as an array that is there already.
    with torch.cuda.device(device):
        return torch.as_tensor(_CudaArray(pinned), device=device)


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
