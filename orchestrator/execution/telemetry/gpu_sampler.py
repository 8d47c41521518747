"""What NVIDIA's management library (NVML) tells of a trial's GPUs, read from outside.

A figure that a device does not have is absent. Where the library is absent or fails midway
all figures of the GPUs are, since a mean over half a trial is not the trial's, and
:attr:`GpuWatch.note` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from orchestrator.execution.telemetry.contamination import SHARE

LEAST_LOOKS = 2
"""A process that was seen once may have done no more than ask what GPU there is."""

_SLOWDOWNS = {
    "power cap": ("nvmlClocksEventReasonSwPowerCap",),
    "thermal": (
        "nvmlClocksEventReasonSwThermalSlowdown",
        "nvmlClocksThrottleReasonHwThermalSlowdown",
    ),
    "power brake": ("nvmlClocksThrottleReasonHwPowerBrakeSlowdown",),
    "hardware slowdown": ("nvmlClocksThrottleReasonHwSlowdown",),
}
"""Why a GPU may run slower than it can, and NVML's bits for it. Being idle is no reason."""


@dataclass(kw_only=True)
class _Card:
    """One GPU and what was read of it."""

    handle: Any
    uuid: str
    name: str
    readings: dict[str, list[float]] = field(default_factory=dict)
    slowed: dict[str, int] = field(default_factory=dict)
    lacks: set[str] = field(default_factory=set)
    num_looks: int = 0
    num_slowed: int = 0
    num_foreign: int = 0

    def mean(self, reading: str) -> float | None:
        values = self.readings.get(reading)
        return fmean(values) if values else None

    def spread(self, reading: str) -> float | None:
        """Growth from the first reading to the last, of a counter."""
        values = self.readings.get(reading, [])
        return values[-1] - values[0] if len(values) > 1 else None


class GpuWatch:
    """Reads the GPUs of one trial."""

    def __init__(self, gpus: Sequence[str]) -> None:
        """Opens the GPUs named as in ``CUDA_VISIBLE_DEVICES``, by index or UUID."""
        self._asked = tuple(gpus)
        self._cards: list[_Card] = []
        self._settings = ""
        self.note = ""
        if gpus:
            self._guarded(self._open)

    @property
    def device(self) -> str:
        """The GPUs' names; ``cpu`` where there are none."""
        if not self._asked:
            return "cpu"
        names = ", ".join(card.name for card in self._cards)
        return names or ", ".join(f"GPU {gpu}" for gpu in self._asked)

    def look(self, own: Sequence[int]) -> None:
        """Reads every GPU; ``own`` are the processes of the trial."""
        self._guarded(lambda: self._look_at_all(set(own)))

    def figures(self) -> dict[str, float]:
        """Figures by metric name: over all of the trial's GPUs, and of each of several."""
        if self.note or not any(card.num_looks for card in self._cards):
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
        """Which GPUs, what their speed is set by, and why they were slowed down, if they were."""
        settings = {"gpu_settings": self._settings} if self._settings else {}
        if self.note or not self._cards:
            return settings
        looks = max(sum(card.num_looks for card in self._cards), 1)
        counts: dict[str, int] = {}
        for card in self._cards:
            for reason, count in card.slowed.items():
                counts[reason] = counts.get(reason, 0) + count
        slowed = ", ".join(f"{why} {100 * n / looks:.0f} %" for why, n in counts.items() if n)
        known = any("slowed" not in card.lacks and card.num_looks for card in self._cards)
        throttled = {"throttled": slowed or "false"} if known else {}
        which = {"gpus": ",".join(card.uuid for card in self._cards)}
        return {**which, **settings, **throttled}

    def findings(self) -> list[str] | None:
        """Which GPUs other processes used meanwhile; None where that is not known."""
        if self.note or not self._cards or any("foreign" in card.lacks for card in self._cards):
            return None
        return [
            f"another process was on {card.uuid} {100 * card.num_foreign / card.num_looks:.0f} % "
            "of the time"
            for card in self._cards
            if card.num_foreign >= LEAST_LOOKS and card.num_foreign / card.num_looks >= SHARE
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

    def _look_at_all(self, own: set[int]) -> None:
        for card in self._cards:
            self._look(card, own)

    def _look(self, card: _Card, own: set[int]) -> None:
        card.num_looks += 1
        for reading, read in _READINGS.items():
            value = self._read(card, reading, read)
            if value is not None:
                card.readings.setdefault(reading, []).append(value)
        reasons = self._read(card, "slowed", _slowdowns) or ()
        card.num_slowed += bool(reasons)
        for reason in reasons:
            card.slowed[reason] = card.slowed.get(reason, 0) + 1
        pids = self._read(card, "foreign", _processes)
        card.num_foreign += bool(_num_foreign(set(pids or ()), own))

    def _read(self, card: _Card, what: str, read: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """One reading; None where the device has no such thing, which is not asked again."""
        if what in card.lacks:
            return None
        nvml = _nvml()
        try:
            return read(card.handle)
        except (
            nvml.NVMLError_NotSupported,
            nvml.NVMLError_NoPermission,
            nvml.NVMLError_FunctionNotFound,  # the driver is older than the call
        ):
            card.lacks.add(what)
        return None

    def _guarded(self, act: Callable[[], object]) -> None:
        if self.note:
            return
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever NVML does, the trial goes on
            said = str(error) or type(error).__name__
            self.note = f"figures of the GPUs are not read: NVML: {said}"


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
    read = {
        "gpu_util": card.mean("util"),
        "gpu_memory_gib": max(memory) if memory else None,
        "gpu_power_w": card.mean("power_w"),
        "gpu_clock_mhz": card.mean("clock_mhz"),
        "gpu_energy_j": card.spread("energy_j"),
    }
    if "slowed" not in card.lacks:
        read["gpu_slowed_share"] = card.num_slowed / card.num_looks
    return {name: value for name, value in read.items() if value is not None}


def _power_limit(handle: Any) -> float:  # noqa: ANN401 - NVML's own handle
    """In watts: the least of what the user, the driver and the node allow."""
    return float(_nvml().nvmlDeviceGetEnforcedPowerLimit(handle)) / 1000


def _slowdowns(handle: Any) -> list[str]:  # noqa: ANN401 - NVML's own handle
    nvml = _nvml()
    active = int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    bits = {why: sum(getattr(nvml, name, 0) for name in names) for why, names in _SLOWDOWNS.items()}
    return [why for why, bit in bits.items() if active & bit]


def _processes(handle: Any) -> list[int]:  # noqa: ANN401 - NVML's own handle
    return [int(process.pid) for process in _nvml().nvmlDeviceGetComputeRunningProcesses(handle)]


def _num_foreign(pids: set[int], own: set[int]) -> int:
    """Processes on a GPU that are not the trial's.

    Within a container NVML may number processes as the host does. Where none of the trial's
    own is found, one of the others may therefore be it.
    """
    foreign = pids - own
    return len(foreign) if pids & own else max(len(foreign) - 1, 0)
