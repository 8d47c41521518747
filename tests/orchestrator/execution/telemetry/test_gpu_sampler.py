"""Figures of GPUs, of a made-up NVML; with a real one where there is a GPU."""

from __future__ import annotations

import os
import sys
import time

import pytest

from orchestrator.execution import placement
from orchestrator.execution.telemetry.gpu_sampler import GpuSampler
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.system.gpus import in_full, visible_gpus
from tests.orchestrator.execution.made_nvml import Gpu, MadeNvml

OWN, OTHER = 100, 200


def watch(
    monkeypatch: pytest.MonkeyPatch, *gpus: Gpu, num_looks: int = 4, broken: str = ""
) -> GpuSampler:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*gpus, broken=broken))
    made = GpuSampler([str(index) for index in range(max(len(gpus), 1))])
    for _ in range(num_looks):
        made.sample([OWN])
    return made


def test_reads_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(
        util=[20, 40, 60, 80],
        energy_mj=[5_000_000, 5_100_000, 5_200_000, 5_450_000],
        reasons=[0, 0x4, 0x4 | 0x40, 0],
        pids=[[OWN]],
    )
    seen = watch(monkeypatch, gpu)
    assert seen.figures() == {
        "gpu_util": 0.5,
        "gpu_memory_gib": 1.0,
        "gpu_power_w": 200.0,
        "gpu_clock_mhz": 1700.0,
        "gpu_energy_j": 450.0,
        "gpu_slowed_share": 0.5,
    }
    assert seen.tags() == {
        "gpus": "GPU-aaaa",
        "gpu_settings": "driver 580.65.06, power limit 700 W",
        "throttled": "power cap 50 %, thermal 25 %",
    }
    assert seen.findings() == []
    assert seen.device == "Made-up GPU"
    assert seen.note == ""


def test_what_a_device_does_not_have_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = frozenset({"energy", "power", "reasons", "processes", "limit"})
    seen = watch(monkeypatch, Gpu(unsupported=lacks))
    assert set(seen.figures()) == {"gpu_util", "gpu_memory_gib", "gpu_clock_mhz"}
    assert seen.tags() == {"gpus": "GPU-aaaa", "gpu_settings": "driver 580.65.06"}
    assert seen.findings() is None
    assert seen.note == ""


def test_two_gpus_are_summed_and_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = (Gpu(util=[100], power_mw=300_000), Gpu(uuid="GPU-bbbb", util=[50], power_mw=100_000))
    seen = watch(monkeypatch, *gpus)
    figures = seen.figures()
    assert (figures["gpu_util"], figures["gpu_power_w"]) == (0.75, 400.0)
    assert (figures["gpu_util_0"], figures["gpu_util_1"]) == (1.0, 0.5)
    assert seen.tags()["gpus"] == "GPU-aaaa,GPU-bbbb"


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
    found = watch(monkeypatch, Gpu(pids=pids)).findings()
    assert found is not None
    assert len(found) == len(expected)
    for text, end in zip(found, expected, strict=True):
        assert text.startswith("another process was on GPU-aaaa")
        assert text.endswith(end)


def test_little_of_another_process_is_no_contamination(monkeypatch: pytest.MonkeyPatch) -> None:
    pids = [[OWN, OTHER]] * 4 + [[OWN]] * 96
    assert watch(monkeypatch, Gpu(pids=pids), num_looks=100).findings() == []


def test_failing_midway_empties_all_cells_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = watch(monkeypatch, Gpu(fails_after=2), num_looks=5)
    assert seen.figures() == {}
    assert set(seen.tags()) == {"gpu_settings"}, "which were read at the beginning"
    assert seen.findings() is None
    assert seen.note == "figures of the GPUs are not read: NVML: GPU is lost"
    assert seen.device == "Made-up GPU"


def test_without_nvml_cells_are_empty_and_the_device_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = watch(monkeypatch, broken="NVML Shared Library Not Found")
    assert seen.figures() == {}
    assert "NVML Shared Library Not Found" in seen.note
    assert seen.device == "GPU 0"
    assert visible_gpus() == []


def test_a_trial_without_gpus_asks_nothing_of_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    telemetry = Telemetry()
    assert telemetry.device == "cpu"
    assert telemetry.note == ""
    assert telemetry.figures() == {}
    assert telemetry.tags() == {}


def test_a_foreign_process_contaminates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(Gpu(pids=[[os.getpid(), OTHER]])))
    telemetry = Telemetry(gpus=["GPU-aaaa"])
    for _ in range(2):
        telemetry.sample([os.getpid()], now=True)
        time.sleep(0.06)  # so that the next look is not too soon
    assert telemetry.tags()["contaminated"] == ("another process was on GPU-aaaa 100 % of the time")


@pytest.mark.gpu
def test_a_real_gpu_is_read() -> None:
    pytest.importorskip("pynvml")
    seen = GpuSampler(["0"])
    for _ in range(2):
        seen.sample([])
    assert seen.note == ""
    assert 0 <= seen.figures()["gpu_util"] <= 1
    assert seen.tags()["gpus"].startswith(("GPU-", "MIG-"))


GPUS = (
    Gpu(uuid="GPU-aaaa-1", name="Small GPU"),
    Gpu(uuid="GPU-not-ours", permitted=False),
    Gpu(uuid="GPU-aabb-2", name="Large GPU", parts=("MIG-1", "MIG-2", "MIG-3")),
)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (None, ["GPU-aaaa-1", "GPU-aabb-2"]),
        ("1", ["GPU-aabb-2"]),
        ("1, 0", ["GPU-aabb-2", "GPU-aaaa-1"]),
        ("", []),
        ("-1", []),
        ("1,-1,0", ["GPU-aabb-2"]),
        ("0,2,1", ["GPU-aaaa-1"]),
        ("GPU-aab,GPU-aaaa-1", ["GPU-aabb-2", "GPU-aaaa-1"]),
        ("GPU-aa", []),
        ("GPU-not-ours", []),
        ("MIG-1,MIG-3,MIG-2", ["MIG-1", "MIG-3", "MIG-2"]),
        ("MIG-1,MIG-9", ["MIG-1"]),
    ],
)
def test_only_gpus_that_the_user_lets_see_are_used(
    monkeypatch: pytest.MonkeyPatch, named: str | None, expected: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*GPUS))
    if named is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert [gpu.uuid for gpu in visible_gpus()] == expected
    assert placement.local_machine().gpus == len(expected)


def test_the_name_is_that_of_the_gpu_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*GPUS))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert placement.local_machine().nodes[0].gpu_name == "Large GPU"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-2")
    assert placement.local_machine().nodes[0].gpu_name == "Large GPU MIG"


def test_what_ray_calls_a_gpu_is_named_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*GPUS))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")  # as Ray has set it in its worker
    assert in_full(["1", "GPU-aaa", "7"]) == ["GPU-aabb-2", "GPU-aaaa-1", "7"]
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(broken="no driver"))
    assert in_full(["0"]) == ["0"]


def test_a_driver_older_than_a_call_lacks_that_figure_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = watch(monkeypatch, Gpu(unknown=frozenset({"reasons"})))
    assert seen.note == ""
    assert "gpu_util" in seen.figures()
    assert "gpu_slowed_share" not in seen.figures()


def test_an_error_without_words_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(Gpu(permitted=False)))
    assert GpuSampler(["0"]).note.endswith("NVML: NVMLError_NoPermission")


def test_ray_numbers_the_gpus_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    def init(*, num_gpus: int, **_: object) -> None:
        seen.update(num_gpus=num_gpus, named=os.environ["CUDA_VISIBLE_DEVICES"])

    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*GPUS))
    monkeypatch.setattr("ray.init", init)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    from orchestrator.execution.ray.connection import start_local

    start_local()
    assert seen == {"num_gpus": 2, "named": "GPU-aaaa-1,GPU-aabb-2"}
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
