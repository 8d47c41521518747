"""Figures of the GPUs of a made-up NVML; of a real one where there is a GPU."""

from __future__ import annotations

import sys

import pytest

from orchestrator.execution.telemetry.gpu_sampler import GpuSampler
from tests.orchestrator.helpers.made_nvml import Gpu, MadeNvml

OWN, OTHER = 100, 200


def sampled(
    monkeypatch: pytest.MonkeyPatch, *gpus: Gpu, num_samples: int = 4, broken: str = ""
) -> GpuSampler:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*gpus, broken=broken))
    made = GpuSampler([str(index) for index in range(max(len(gpus), 1))])
    for _ in range(num_samples):
        made.sample([OWN])
    return made


def test_figures_and_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(
        util=[20, 40, 60, 80],
        energy_mj=[5_000_000, 5_100_000, 5_200_000, 5_450_000],
        reasons=[0, 0x4, 0x4 | 0x40, 0],
        pids=[[OWN]],
    )
    sampler = sampled(monkeypatch, gpu)
    assert sampler.figures() == {
        "gpu_util": 0.5,
        "gpu_memory_gib": 1.0,
        "gpu_power_w": 200.0,
        "gpu_clock_mhz": 1700.0,
        "gpu_energy_j": 450.0,
        "gpu_slowed_share": 0.5,
    }
    assert sampler.tags() == {
        "gpus": "GPU-aaaa",
        "gpu_settings": "driver 580.65.06, power limit 700 W",
        "throttled": "power cap 50 %, thermal 25 %",
    }
    assert sampler.findings() == []
    assert sampler.device == "Made-up GPU"
    assert sampler.note == ""


def test_a_figure_that_a_device_lacks_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = frozenset({"energy", "power", "reasons", "processes", "limit"})
    sampler = sampled(monkeypatch, Gpu(unsupported=lacks))
    assert set(sampler.figures()) == {"gpu_util", "gpu_memory_gib", "gpu_clock_mhz"}
    assert sampler.tags() == {"gpus": "GPU-aaaa", "gpu_settings": "driver 580.65.06"}
    assert sampler.findings() is None
    assert sampler.note == ""


def test_two_gpus_are_summed_and_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = (Gpu(util=[100], power_mw=300_000), Gpu(uuid="GPU-bbbb", util=[50], power_mw=100_000))
    sampler = sampled(monkeypatch, *gpus)
    figures = sampler.figures()
    assert (figures["gpu_util"], figures["gpu_power_w"]) == (0.75, 400.0)
    assert (figures["gpu_util_0"], figures["gpu_util_1"]) == (1.0, 0.5)
    assert sampler.tags()["gpus"] == "GPU-aaaa,GPU-bbbb"


@pytest.mark.parametrize(
    ("pids", "expected"),
    [
        pytest.param([[OWN]], [], id="its own"),
        pytest.param([[], [OWN]], [], id="its own, later"),
        pytest.param([[OWN, OTHER]], ["100 % of the time"], id="another"),
        pytest.param([[OWN], [OWN, OTHER], [OWN, OTHER], [OWN]], ["50 % of the time"], id="half"),
        pytest.param([[OWN, OTHER], [OWN]], [], id="another, for a moment"),
        pytest.param([[31337]], [], id="its own, numbered as the host does"),
        pytest.param([[31337, 31338]], ["100 % of the time"], id="another, numbered so"),
    ],
)
def test_another_process_on_the_gpu_is_found(
    monkeypatch: pytest.MonkeyPatch, pids: list[list[int]], expected: list[str]
) -> None:
    texts = sampled(monkeypatch, Gpu(pids=pids)).findings()
    assert texts is not None
    for text, end in zip(texts, expected, strict=True):
        assert text.startswith("another process was on GPU-aaaa")
        assert text.endswith(end)


def test_a_failure_midway_empties_all_figures_and_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sampler = sampled(monkeypatch, Gpu(fails_after=2), num_samples=5)
    assert sampler.figures() == {}
    assert set(sampler.tags()) == {"gpu_settings"}, "which were read at the beginning"
    assert sampler.findings() is None
    assert sampler.note == "figures of the GPUs are not read: NVML: GPU is lost"
    assert sampler.device == "Made-up GPU"


def test_without_nvml_figures_are_absent_and_the_device_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sampler = sampled(monkeypatch, broken="NVML Shared Library Not Found")
    assert sampler.figures() == {}
    assert "NVML Shared Library Not Found" in sampler.note
    assert sampler.device == "GPU 0"


@pytest.mark.gpu
def test_a_real_gpu_is_read() -> None:
    pytest.importorskip("pynvml")
    sampler = GpuSampler(["0"])
    for _ in range(2):
        sampler.sample([])
    assert sampler.note == ""
    assert 0 <= sampler.figures()["gpu_util"] <= 1
    assert sampler.tags()["gpus"].startswith(("GPU-", "MIG-"))
