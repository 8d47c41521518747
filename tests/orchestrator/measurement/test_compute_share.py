from __future__ import annotations

from dataclasses import dataclass

import pytest
from torch.autograd import DeviceType  # type: ignore[attr-defined]

from orchestrator.measurement.compute_share import busy_s, kernels_of


def test_time_in_kernels_that_overlap_counts_once() -> None:
    assert busy_s([]) == 0
    assert busy_s([(0, 10), (20, 30)]) == pytest.approx(20e-6)
    assert busy_s([(20, 30), (0, 25)]) == pytest.approx(30e-6)
    assert busy_s([(0, 100), (10, 20), (90, 110)]) == pytest.approx(110e-6)


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
