"""Mixed precision, once for all trainables."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Precision:
    """Autocast, and the loss scaling that goes with half precision.

        with run.phase(Phase.FORWARD), precision.autocast():
            loss = ...
        with run.phase(Phase.BACKWARD):
            precision.backward(loss)
        with run.phase(Phase.OPTIMIZER):
            precision.step(optimizer)

    Args:
        amp: ``off``; ``tf32``, which ``prepare_process`` sets; ``bf16``, on CPUs and GPUs;
            ``fp16`` with a scaled loss, on GPUs.
        device: Device of the training.

    Raises:
        ValueError: ``fp16`` without a GPU.
    """

    def __init__(self, amp: Literal["off", "tf32", "bf16", "fp16"], device: torch.device) -> None:
        if amp == "fp16" and device.type != "cuda":
            raise ValueError(f"amp='fp16' needs a CUDA device, not {device}")
        self._dtype = _DTYPES.get(amp)
        self._device = device.type
        self._scaler = torch.amp.GradScaler(device.type) if amp == "fp16" else None

    def autocast(self) -> AbstractContextManager[Any]:
        """A context in which operations that gain from it run in lower precision."""
        if self._dtype is None:
            return nullcontext()
        return torch.autocast(self._device, dtype=self._dtype)

    def backward(self, loss: torch.Tensor) -> None:
        """Compute gradients, of the scaled loss where there is a scale."""
        (self._scaler.scale(loss) if self._scaler else loss).backward()

    def step(self, *optimizers: torch.optim.Optimizer) -> None:
        """Step each optimizer; with ``fp16`` only where its gradients are finite."""
        if self._scaler is None:
            for optimizer in optimizers:
                optimizer.step()
            return
        for optimizer in optimizers:
            self._scaler.step(optimizer)
        self._scaler.update()

    def state(self) -> dict[str, Any]:
        """Return the content of a checkpoint."""
        return self._scaler.state_dict() if self._scaler else {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of :meth:`state`."""
        if self._scaler and state:
            self._scaler.load_state_dict(dict(state))
