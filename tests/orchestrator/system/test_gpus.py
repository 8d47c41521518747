"""GPUs that a process may use, of a made-up NVML."""

import sys

import pytest

from orchestrator.execution import placement
from orchestrator.system.gpus import in_full, visible_gpus
from tests.orchestrator.helpers.made_nvml import Gpu, MadeNvml

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


def test_without_a_driver_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(broken="NVML Shared Library Not Found"))
    assert visible_gpus() == []
