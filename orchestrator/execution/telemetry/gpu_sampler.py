"""GPU sampler: reads a trial's GPUs from outside, by NVIDIA's management library (NVML).

A figure that the library does not give for a device is absent.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

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

_Read = Callable[[Any, Any], Any]
"""Reads something by the module of NVML and the handle of a GPU."""


def _slowdowns(nvml: Any, handle: Any) -> list[str]:  # noqa: ANN401 - without types
    """Return the reasons why the GPU runs slower now."""
    active = int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    # A reason that this version of the library does not know has no bit.
    bits = {why: sum(getattr(nvml, name, 0) for name in names) for why, names in _SLOWDOWNS.items()}
    return [why for why, bit in bits.items() if active & bit]


def _growth(values: Sequence[float]) -> float | None:
    return values[-1] - values[0] if len(values) > 1 else None


@dataclass(frozen=True)
class _Figure:
    """A figure: its reading, and how it is combined over time and over several GPUs."""

    read: _Read
    over_time: Callable[[list[Any]], float | None]
    over_gpus: Callable[[list[float]], float]


_SLOWED, _ENERGY, _MEMORY = "gpu_slowed_share", "gpu_energy_j", "gpu_memory_gib"
_FIGURES = {
    "gpu_util": _Figure(
        lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100, fmean, fmean
    ),
    _MEMORY: _Figure(lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used / 2**30, max, max),
    "gpu_power_w": _Figure(lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1000, fmean, sum),
    "gpu_clock_mhz": _Figure(
        lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM), fmean, fmean
    ),
    _SLOWED: _Figure(_slowdowns, lambda reasons: fmean(map(bool, reasons)), fmean),
    _ENERGY: _Figure(
        lambda nvml, gpu: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000, _growth, sum
    ),
}

_OF_A_CARD = (_MEMORY, _ENERGY, "gpu_power_w", "gpu_util")
"""Figures of a card, to which no trial has a share of its own."""


@dataclass(kw_only=True)
class _Card:
    """One GPU with its readings."""

    handle: Any
    uuid: str
    name: str
    readings: dict[str, list[Any]] = field(default_factory=dict)
    others: list[bool] = field(default_factory=list)
    energy_j: float | None = None
    skipped_j: float = 0.0
    skips: bool = False

    def own_j(self, energy_j: float) -> float:
        """Return a reading of the card's energy without that of pauses."""
        if self.skips and self.energy_j is not None:
            self.skipped_j += energy_j - self.energy_j
        self.energy_j, self.skips = energy_j, False
        return energy_j - self.skipped_j

    def figures(self) -> dict[str, float]:
        values = {name: _FIGURES[name].over_time(read) for name, read in self.readings.items()}
        return {name: value for name, value in values.items() if value is not None}


class GpuSampler:
    """Readings of the GPUs of one trial."""

    def __init__(
        self, gpus: Sequence[str], *, are_shared: bool = False, by_turns: bool = False
    ) -> None:
        """Open the GPUs with these UUIDs.

        Args:
            gpus: Of the trial.
            are_shared: True where other trials compute on them at the same time.
            by_turns: True where other trials compute on them in turn, and keep their memory.
        """
        self._asked, self._has_others = tuple(gpus), are_shared or by_turns
        of_all = _OF_A_CARD if are_shared else (_MEMORY,) if by_turns else ()
        self._figures = {name: each for name, each in _FIGURES.items() if name not in of_all}
        self._cards: list[_Card] = []
        self._settings = ""
        if gpus:
            self._open()

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
            for name, figure in self._figures.items():
                if (value := _read(figure.read, card)) is not None:
                    value = card.own_j(value) if name == _ENERGY else value
                    card.readings.setdefault(name, []).append(value)
            if not self._has_others and (pids := _read(_processes, card)) is not None:
                card.others.append(_are_others(pids, set(own)))

    def skip(self) -> None:
        """Leave out the energy until the next sample: it is that of other trials."""
        for card in self._cards:
            card.skips = True

    def figures(self) -> dict[str, float]:
        """Return figures by metric name: over all of the trial's GPUs, and of each of several."""
        each = [card.figures() for card in self._cards]
        total = {
            name: figure.over_gpus([figures[name] for figures in each])
            for name, figure in self._figures.items()
            if each and all(name in figures for figures in each)
        }
        if len(each) < 2:
            return total
        own = {f"{name}_{i}": v for i, figures in enumerate(each) for name, v in figures.items()}
        return total | own

    def tags(self) -> dict[str, str]:
        """Return the GPUs, the settings of their speed, and the reasons why they were slowed."""
        if not self._cards:
            return {}
        samples = [reasons for card in self._cards for reasons in card.readings.get(_SLOWED, [])]
        counts = Counter(reason for reasons in samples for reason in reasons)
        slowed = ", ".join(f"{why} {100 * n / len(samples):.0f} %" for why, n in counts.items())
        throttled = {"throttled": slowed or "false"} if samples else {}
        gpus = ",".join(card.uuid for card in self._cards)
        return {"gpus": gpus, "gpu_settings": self._settings, **throttled}

    def findings(self, least_share: float) -> list[str] | None:
        """Return the use of the GPUs by others from this share of samples on; None if unknown."""
        if not self._cards or not all(card.others for card in self._cards):
            return None
        found = {card.uuid: (sum(card.others), fmean(card.others)) for card in self._cards}
        return [
            f"another process was on {uuid} {100 * share:.0f} % of the time"
            for uuid, (count, share) in found.items()
            if count >= LEAST_SAMPLES and share >= least_share
        ]

    def _open(self) -> None:
        import pynvml as nvml

        with suppress(nvml.NVMLError):
            nvml.nvmlInit()
            for gpu in self._asked:
                handle = nvml.nvmlDeviceGetHandleByUUID(gpu)
                uuid, name = nvml.nvmlDeviceGetUUID(handle), nvml.nvmlDeviceGetName(handle)
                self._cards.append(_Card(handle=handle, uuid=str(uuid), name=str(name)))
            # The least of the user's, the driver's and the node's limit, in mW.
            limit = nvml.nvmlDeviceGetEnforcedPowerLimit
            limits = {_read(lambda _, gpu: limit(gpu) / 1000, card) for card in self._cards}
            driver = f"driver {nvml.nvmlSystemGetDriverVersion()}"
            self._settings = ", ".join(
                [driver, *(f"power limit {watts:.0f} W" for watts in sorted(limits - {None}))]
            )


def _read(read: _Read, card: _Card) -> Any:  # noqa: ANN401 - whatever is read
    """Return one reading; None where NVML does not give it."""
    import pynvml as nvml

    try:
        return read(nvml, card.handle)
    except nvml.NVMLError:
        return None


def _processes(nvml: Any, handle: Any) -> set[int]:  # noqa: ANN401 - without types
    return {int(process.pid) for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)}


def _are_others(pids: set[int], own: set[int]) -> bool:
    """Return True if processes on a GPU are not the trial's.

    In a container NVML may number processes as the host does. If none of the trial's own
    is found, one of the others may therefore be the trial's.
    """
    return len(pids - own) >= (1 if pids & own else 2)
