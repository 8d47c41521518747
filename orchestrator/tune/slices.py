"""The time of a slice, and what a slice runs under."""

import time
from typing import Final

import torch

LEAST_STEPS: Final = 8
"""Steps of a slice, at least."""


class Timer:
    """Time of a slice: of whole epochs, or of steps once the batches loaded ahead are used up.

    Args:
        ahead: Number of steps before it begins.
    """

    def __init__(self, ahead: int) -> None:
        self._ahead = ahead
        self._began: float | None = None
        self._steps = self.samples = 0
        self.waited = self.took = 0.0

    def start(self) -> None:
        """Begin, or continue with another epoch."""
        synchronize()
        self._began = time.perf_counter()

    def stop(self) -> None:
        """Take the end of the slice, or of an epoch."""
        assert self._began is not None
        synchronize()
        self.took += time.perf_counter() - self._began
        self._began = None

    def handed_out(self, samples: int, waited: float) -> None:
        """Count a batch."""
        if self._began is not None:
            self.samples, self._steps = self.samples + samples, self._steps + 1
            self.waited += waited

    def is_over(self, burst: int, least_s: float) -> bool:
        """Take the end of a step; return True where it was the last one of the slice."""
        if self._began is None:
            self._ahead -= 1
            if self._ahead < 0:
                self.start()
            return False
        if self._steps < LEAST_STEPS or self._steps % burst:
            return False
        if time.perf_counter() - self._began < least_s:
            return False
        self.stop()
        return True


def synchronize() -> None:
    """Wait for what a GPU has been asked for."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def autocast(is_on: bool) -> None:
    """Switch autocast, whose copies of the weights no block ends."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_autocast_enabled(device, is_on)
    if is_on:
        torch.set_autocast_dtype(device, torch.bfloat16)
        torch.set_autocast_cache_enabled(False)
