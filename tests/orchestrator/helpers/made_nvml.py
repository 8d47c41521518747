"""A made-up NVML: the one thing around a trial that cannot exist without a GPU."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    pass


class NVMLError_NotSupported(NVMLError):
    pass


class NVMLError_NoPermission(NVMLError):
    pass


class NVMLError_FunctionNotFound(NVMLError):
    pass


@dataclass
class Gpu:
    """One device; a list of readings is gone through, its last one kept."""

    uuid: str = "GPU-aaaa"
    name: str = "Made-up GPU"
    permitted: bool = True
    parts: tuple[str, ...] = ()
    util: list[int] = field(default_factory=lambda: [50])
    used: int = 2**30
    total: int = 80 * 2**30
    power_mw: int = 200_000
    limit_mw: int = 700_000
    energy_mj: list[int] = field(default_factory=lambda: [1_000_000])
    reasons: list[int] = field(default_factory=lambda: [0])
    pids: list[list[int]] = field(default_factory=lambda: [[]])
    unsupported: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    fails_after: int | None = None
    num_asked: int = 0


class MadeNvml(SimpleNamespace):
    """Replaces the module ``pynvml``."""

    NVMLError = NVMLError
    NVMLError_NotSupported = NVMLError_NotSupported
    NVMLError_NoPermission = NVMLError_NoPermission
    NVMLError_FunctionNotFound = NVMLError_FunctionNotFound
    NVML_CLOCK_SM = 1
    nvmlClocksEventReasonSwPowerCap = 0x4
    nvmlClocksThrottleReasonHwSlowdown = 0x8
    nvmlClocksEventReasonSwThermalSlowdown = 0x20
    nvmlClocksThrottleReasonHwThermalSlowdown = 0x40
    nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80

    def __init__(self, *gpus: Gpu, broken: str = "") -> None:
        super().__init__()
        self._gpus, self._broken = gpus, broken

    def nvmlInit(self) -> None:
        if self._broken:
            raise NVMLError(self._broken)

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.65.06"

    def nvmlDeviceGetEnforcedPowerLimit(self, gpu: Gpu) -> int:
        return self._offered(gpu, "limit", gpu.limit_mw)

    def nvmlDeviceGetCount(self) -> int:
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Gpu:
        if not self._gpus[index].permitted:
            raise NVMLError_NoPermission
        return self._gpus[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Gpu:
        for gpu in self._gpus:
            if uuid == gpu.uuid:
                return gpu
            if uuid in gpu.parts:
                return Gpu(uuid=uuid, name=f"{gpu.name} MIG")
        raise NVMLError("Not Found")

    def nvmlDeviceGetUUID(self, gpu: Gpu) -> str:
        return gpu.uuid

    def nvmlDeviceGetName(self, gpu: Gpu) -> str:
        return gpu.name

    def nvmlDeviceGetUtilizationRates(self, gpu: Gpu) -> Any:  # noqa: ANN401
        gpu.num_asked += 1
        if gpu.fails_after is not None and gpu.num_asked > gpu.fails_after:
            raise NVMLError("GPU is lost")
        return SimpleNamespace(gpu=_next(gpu.util))

    def nvmlDeviceGetMemoryInfo(self, gpu: Gpu) -> Any:  # noqa: ANN401
        return SimpleNamespace(used=gpu.used, total=gpu.total)

    def nvmlDeviceGetPowerUsage(self, gpu: Gpu) -> int:
        return self._offered(gpu, "power", gpu.power_mw)

    def nvmlDeviceGetClockInfo(self, gpu: Gpu, kind: int) -> int:
        assert kind == self.NVML_CLOCK_SM
        return 1700

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: Gpu) -> int:
        return self._offered(gpu, "energy", _next(gpu.energy_mj))

    def nvmlDeviceGetCurrentClocksEventReasons(self, gpu: Gpu) -> int:
        return self._offered(gpu, "reasons", _next(gpu.reasons))

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: Gpu) -> list[Any]:
        pids = self._offered(gpu, "processes", _next(gpu.pids))
        return [SimpleNamespace(pid=pid) for pid in pids]

    def _offered(self, gpu: Gpu, what: str, value: Any) -> Any:  # noqa: ANN401
        if what in gpu.unsupported:
            raise NVMLError_NotSupported(what)
        if what in gpu.unknown:
            raise NVMLError_FunctionNotFound(what)
        return value


def _next(values: list[Any]) -> Any:  # noqa: ANN401
    return values.pop(0) if len(values) > 1 else values[0]
