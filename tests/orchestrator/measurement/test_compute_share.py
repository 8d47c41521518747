from __future__ import annotations

from dataclasses import dataclass

from torch.autograd import DeviceType  # type: ignore[attr-defined]

from orchestrator.measurement.compute_share import kernels_of


@dataclass
class Span:
    start: float
    end: float


@dataclass
class Event:
    """Event of the profiler about work of a GPU, of which there is none here."""

    name: str
    device_type: DeviceType
    time_range: Span


def test_copies_and_the_host_s_own_operations_are_no_kernels() -> None:
    gpu, cpu = DeviceType.CUDA, DeviceType.CPU
    events = [
        Event("ampere_sgemm_128x64_tn", gpu, Span(0, 10)),
        Event("Memcpy HtoD (Pinned -> Device)", gpu, Span(10, 50)),
        Event("Memset (Device)", gpu, Span(50, 51)),
        Event("Optimizer.step#SGD.step", gpu, Span(0, 99)),
        Event("aten::addmm", cpu, Span(0, 99)),
    ]
    assert list(kernels_of(events)) == [(0, 10)]
