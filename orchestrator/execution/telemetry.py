"""What a supervisor reads of its trial's processes from outside, twice a second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

import psutil

PERIOD_S = 0.5


class Telemetry:
    """Memory of a trial's processes, and load of its GPUs where it has any.

    What could not be read is absent from :meth:`figures`, never 0.
    """

    def __init__(self, gpus: Sequence[str] = ()) -> None:
        """Watches the GPUs named as in ``CUDA_VISIBLE_DEVICES``, indices or UUIDs."""
        self._peak_bytes = 0
        self._next_s = 0.0
        self._kills_before = _out_of_memory_kills()
        self._handles = _gpu_handles(gpus)
        self._gpu_util: list[float] = []
        self.device = ", ".join(_gpu_name(handle) for handle in self._handles) or "cpu"

    @property
    def peak_gib(self) -> float:
        """Largest sum of the processes' resident memory that was seen."""
        return self._peak_bytes / 2**30

    def sample(self, pid: int) -> None:
        """Reads the processes below ``pid`` if it is time to."""
        now = time.monotonic()
        if now < self._next_s:
            return
        self._next_s = now + PERIOD_S
        self._peak_bytes = max(self._peak_bytes, _resident_bytes(pid))
        self._gpu_util += [_gpu_utilisation(handle) for handle in self._handles]

    def figures(self) -> dict[str, float]:
        """Figures by metric name."""
        read: dict[str, float] = {}
        if self._peak_bytes:
            read["peak_rss_gib"] = self.peak_gib
        if self._gpu_util:
            read["gpu_util"] = fmean(self._gpu_util)
        return read

    def out_of_memory(self) -> bool:
        """Whether the kernel has killed a process of this cgroup for memory since."""
        now = _out_of_memory_kills()
        return now is not None and self._kills_before is not None and now > self._kills_before


def _resident_bytes(pid: int) -> int:
    total = 0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += member.memory_info().rss
    return total


def _out_of_memory_kills() -> int | None:
    with suppress(OSError, ValueError):
        for line in Path("/sys/fs/cgroup/memory.events").read_text().splitlines():
            name, count = line.split()
            if name == "oom_kill":
                return int(count)
    with suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def _gpu_handles(gpus: Sequence[str]) -> list[Any]:
    if not gpus:
        return []
    import pynvml

    try:
        pynvml.nvmlInit()
        return [
            pynvml.nvmlDeviceGetHandleByIndex(int(gpu))
            if gpu.isdecimal()
            else pynvml.nvmlDeviceGetHandleByUUID(gpu)
            for gpu in gpus
        ]
    except pynvml.NVMLError:
        return []


def _gpu_name(handle: Any) -> str:  # noqa: ANN401 - NVML's own handle
    import pynvml

    return str(pynvml.nvmlDeviceGetName(handle))


def _gpu_utilisation(handle: Any) -> float:  # noqa: ANN401 - NVML's own handle
    import pynvml

    return float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100
