"""GPU sampler: reads a trial's GPUs from outside, by NVIDIA's management library (NVML).

A figure that a device does not have is absent. If the library is absent or fails midway,
all figures of the GPUs are absent, since a mean over half a trial is not the trial's, and
:attr:`GpuSampler.note` gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any

from orchestrator.execution.telemetry.contamination import SHARE

LEAST_SAMPLES = 2
"""Least samples of another process for it to count: one in a single sample may only list GPUs."""

_SLOWDOWNS = {
    "power cap": ("nvmlClocksEventReasonSwPowerCap",),
    "thermal": (
        "nvmlClocksEventReasonSwThermalSlowdown",
        "nvmlClocksThrottleReasonHwThermalSlowdown",
    ),
    "power brake": ("nvmlClocksThrottleReasonHwPowerBrakeSlowdown",),
    "hardware slowdown": ("nvmlClocksThrottleReasonHwSlowdown",),
}
"""Reasons why a GPU runs slower than it can, with NVML's bits. Being idle is no reason."""


@dataclass(kw_only=True)
class _Card:
    """One GPU with its readings."""

    handle: Any
    uuid: str
    name: str
    readings: dict[str, list[float]] = field(default_factory=dict)
    slowed: dict[str, int] = field(default_factory=dict)
    lacks: set[str] = field(default_factory=set)
    num_samples: int = 0
    num_slowed: int = 0
    num_others: int = 0

    def mean(self, reading: str) -> float | None:
        """Return the mean of a gauge's readings."""
        values = self.readings.get(reading)
        return fmean(values) if values else None

    def spread(self, reading: str) -> float | None:
        """Return the growth of a counter from the first reading to the last."""
        values = self.readings.get(reading, [])
        return values[-1] - values[0] if len(values) > 1 else None


class GpuSampler:
    """Readings of the GPUs of one trial."""

    def __init__(self, gpus: Sequence[str]) -> None:
        """Open the GPUs named as in ``CUDA_VISIBLE_DEVICES``, by index or UUID."""
        self._asked = tuple(gpus)
        self._cards: list[_Card] = []
        self._settings = ""
        self.note = ""
        if gpus:
            self._guarded(self._open)

    @property
    def device(self) -> str:
        """Names of the GPUs; ``cpu`` if there are none."""
        if not self._asked:
            return "cpu"
        names = ", ".join(card.name for card in self._cards)
        return names or ", ".join(f"GPU {gpu}" for gpu in self._asked)

    def sample(self, own: Sequence[int]) -> None:
        """Read every GPU.

        Args:
            own: Process ids of the trial.
        """
        for card in self._cards:
            self._guarded(partial(self._sample_card, card, set(own)))

    def figures(self) -> dict[str, float]:
        """Return figures by metric name: over all of the trial's GPUs, and of each of several."""
        if self.note or not any(card.num_samples for card in self._cards):
            return {}
        each = [_figures(card) for card in self._cards]
        common = set.intersection(*(set(figures) for figures in each))
        total = {
            name: combine([figures[name] for figures in each])
            for name, combine in _COMBINED.items()
            if name in common
        }
        if len(each) == 1:
            return total
        own = {f"{name}_{i}": v for i, figures in enumerate(each) for name, v in figures.items()}
        return total | own

    def tags(self) -> dict[str, str]:
        """Return the GPUs, the settings of their speed, and the reasons why they were slowed."""
        settings = {"gpu_settings": self._settings} if self._settings else {}
        if self.note or not self._cards:
            return settings
        num_samples = max(sum(card.num_samples for card in self._cards), 1)
        counts: dict[str, int] = {}
        for card in self._cards:
            for reason, count in card.slowed.items():
                counts[reason] = counts.get(reason, 0) + count
        slowed = ", ".join(f"{why} {100 * n / num_samples:.0f} %" for why, n in counts.items() if n)
        known = any("slowed" not in card.lacks and card.num_samples for card in self._cards)
        throttled = {"throttled": slowed or "false"} if known else {}
        gpus = {"gpus": ",".join(card.uuid for card in self._cards)}
        return {**gpus, **settings, **throttled}

    def findings(self) -> list[str] | None:
        """Return the use of the GPUs by other processes, in words; None where not known."""
        if self.note or not self._cards or any("others" in card.lacks for card in self._cards):
            return None
        return [
            f"another process was on {card.uuid} {100 * card.num_others / card.num_samples:.0f} % "
            "of the time"
            for card in self._cards
            if card.num_others >= LEAST_SAMPLES and card.num_others / card.num_samples >= SHARE
        ]

    # -- one card

    def _open(self) -> None:
        nvml = _nvml()
        nvml.nvmlInit()
        for gpu in self._asked:
            by_index = gpu.isdecimal()
            find = nvml.nvmlDeviceGetHandleByIndex if by_index else nvml.nvmlDeviceGetHandleByUUID
            handle = find(int(gpu) if by_index else gpu)
            uuid = str(nvml.nvmlDeviceGetUUID(handle))
            name = str(nvml.nvmlDeviceGetName(handle))
            self._cards.append(_Card(handle=handle, uuid=uuid, name=name))
        limits = {self._read(card, "limit", _power_limit) for card in self._cards} - {None}
        driver = f"driver {nvml.nvmlSystemGetDriverVersion()}"
        self._settings = ", ".join([driver, *(f"power limit {w:.0f} W" for w in sorted(limits))])

    def _sample_card(self, card: _Card, own: set[int]) -> None:
        """Take one reading of each kind."""
        card.num_samples += 1
        for reading, read in _READINGS.items():
            value = self._read(card, reading, read)
            if value is not None:
                card.readings.setdefault(reading, []).append(value)
        reasons = self._read(card, "slowed", _slowdowns) or ()
        card.num_slowed += bool(reasons)
        for reason in reasons:
            card.slowed[reason] = card.slowed.get(reason, 0) + 1
        pids = self._read(card, "others", _processes)
        card.num_others += bool(_num_others(set(pids or ()), own))

    def _read(self, card: _Card, reading: str, read: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Return one reading; None if the device lacks it, which is checked once."""
        if reading in card.lacks:
            return None
        nvml = _nvml()
        try:
            return read(card.handle)
        except (
            nvml.NVMLError_NotSupported,
            nvml.NVMLError_NoPermission,
            nvml.NVMLError_FunctionNotFound,  # the driver is older than the call
        ):
            card.lacks.add(reading)
        return None

    def _guarded(self, act: Callable[[], object]) -> None:
        """Call ``act`` unless NVML has failed before; keep its failure as the note."""
        if self.note:
            return
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever NVML does, the trial continues
            message = str(error) or type(error).__name__
            self.note = f"figures of the GPUs are not read: NVML: {message}"


def _nvml() -> Any:  # noqa: ANN401 - a module without types
    import pynvml

    return pynvml


_READINGS: dict[str, Callable[[Any], float]] = {
    "util": lambda handle: float(_nvml().nvmlDeviceGetUtilizationRates(handle).gpu) / 100,
    "memory_gib": lambda handle: float(_nvml().nvmlDeviceGetMemoryInfo(handle).used) / 2**30,
    "power_w": lambda handle: float(_nvml().nvmlDeviceGetPowerUsage(handle)) / 1000,
    "clock_mhz": lambda handle: float(
        _nvml().nvmlDeviceGetClockInfo(handle, _nvml().NVML_CLOCK_SM)
    ),
    "energy_j": lambda handle: float(_nvml().nvmlDeviceGetTotalEnergyConsumption(handle)) / 1000,
}

_COMBINED: dict[str, Callable[[list[float]], float]] = {
    "gpu_util": fmean,
    "gpu_memory_gib": max,
    "gpu_power_w": sum,
    "gpu_clock_mhz": fmean,
    "gpu_slowed_share": fmean,
    "gpu_energy_j": sum,
}


def _figures(card: _Card) -> dict[str, float]:
    memory = card.readings.get("memory_gib")
    figures = {
        "gpu_util": card.mean("util"),
        "gpu_memory_gib": max(memory) if memory else None,
        "gpu_power_w": card.mean("power_w"),
        "gpu_clock_mhz": card.mean("clock_mhz"),
        "gpu_energy_j": card.spread("energy_j"),
    }
    if "slowed" not in card.lacks:
        figures["gpu_slowed_share"] = card.num_slowed / card.num_samples
    return {name: value for name, value in figures.items() if value is not None}


def _power_limit(handle: Any) -> float:  # noqa: ANN401 - NVML's own handle
    """Return the least limit of the user, the driver and the node, in watts."""
    return float(_nvml().nvmlDeviceGetEnforcedPowerLimit(handle)) / 1000


def _slowdowns(handle: Any) -> list[str]:  # noqa: ANN401 - NVML's own handle
    """Return the reasons why the GPU runs slower now."""
    nvml = _nvml()
    active = int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    # A reason that this version of the library does not know has no bit.
    bits = {why: sum(getattr(nvml, name, 0) for name in names) for why, names in _SLOWDOWNS.items()}
    return [why for why, bit in bits.items() if active & bit]


def _processes(handle: Any) -> list[int]:  # noqa: ANN401 - NVML's own handle
    return [int(process.pid) for process in _nvml().nvmlDeviceGetComputeRunningProcesses(handle)]


def _num_others(pids: set[int], own: set[int]) -> int:
    """Count the processes on a GPU that are not the trial's.

    In a container NVML may number processes as the host does. If none of the trial's own
    is found, one of the others may therefore be the trial's.
    """
    others = pids - own
    return len(others) if pids & own else max(len(others) - 1, 0)
