"""CPU time and faults of this process, and torch's settings in it."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from orchestrator.measurement.run import Run
from orchestrator.measurement.usage import (
    Memory,
    MemoryAtEnds,
    memory_figures,
    peak_gpu_bytes,
    settings,
)
from orchestrator.trial import Budget
from tests.orchestrator.measurement.fakes import FakeClock, Listener, context


def test_torch_s_settings_are_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings() == {"threads": str(torch.get_num_threads()), "deterministic": "off"}
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    assert settings()["deterministic"] == "cudnn"


def test_the_peak_is_that_of_the_fullest_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = [1000, 3000, 2000]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(peaks))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda index: peaks[index])
    assert peak_gpu_bytes(torch.device("cuda:0")) == 3000
    assert peak_gpu_bytes(torch.device("cpu")) is None


MIB = 2**20


class Leaky(Dataset[int]):
    """Data set that keeps half a MiB of each item that is asked for."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> int:
        self._kept.append(bytes([index + 1]) * (MIB // 2))
        return index


def _one_thread(_: int) -> None:
    torch.set_num_threads(1)


def test_a_list_that_leaks_in_the_workers_shows() -> None:
    loader: DataLoader[int] = DataLoader(
        Leaky(), batch_size=2, num_workers=2, persistent_workers=True, worker_init_fn=_one_thread
    )
    listener = Listener()
    run = Run(context(budget=Budget(epochs=4)), listener)
    for _ in run.epochs():
        for _ in run.batches(loader, samples=len):
            pass
        run.report()
    figures = listener.metrics
    assert figures["worker_growth_mib_per_epoch"] == pytest.approx(8, rel=0.2)
    assert 0.05 < figures["peak_pss_gib"] < 8


def end(epoch: int, *, pss: int = 1, **private: int) -> Memory:
    """Return a reading at the end of an epoch, in MiB; workers by name."""
    workers = {(ord(name), 0.5): size * MIB for name, size in private.items()}
    return Memory(epoch=epoch, pss_bytes=pss * MIB, private_bytes=workers)


@pytest.mark.parametrize(
    ("ends", "growth", "peak"),
    [
        pytest.param(
            [end(0, pss=10, a=1, b=1, c=9), end(1, pss=30, a=2, b=3), end(2, a=3, b=5),
             end(3, a=50, b=5)],
            3, 30, id="of the workers that persist, the median",
        ),
        pytest.param(
            [end(0, a=10), end(1, a=50), end(2, a=90), end(12, a=110)], 2, 1,
            id="ends were left out",
        ),
        pytest.param(
            [end(0, a=10), end(1, a=15), end(1, pss=7, a=20), end(2, a=40), end(3, a=60)], 20, 7,
            id="an epoch in parts grows once",
        ),
        pytest.param([end(0, a=1), end(1, b=2), end(2, c=3)], None, 1, id="none persists"),
        pytest.param([end(0, a=1), end(1, a=2)], None, 1, id="few epochs"),
    ],
)  # fmt: skip
def test_growth_is_an_epochs_and_the_peak_of_every_reading(
    ends: list[Memory], growth: float | None, peak: float
) -> None:
    figures = dict(memory_figures(ends))
    assert figures.get("worker_growth_mib_per_epoch") == growth
    assert figures["peak_pss_gib"] == peak / 1024


def read_at(epoch_s: float, *, num_epochs: int) -> list[int]:
    """Return the epochs after which the memory is read, if a reading takes 10 ms."""
    clock = FakeClock()

    def read(epoch: int) -> Memory:
        clock.sleep(0.01)
        return end(epoch)

    memory = MemoryAtEnds(read=read, clock=clock)
    for epoch in range(num_epochs):
        is_last = epoch == num_epochs - 1
        memory.end_epoch(epoch, epoch_s * (epoch + 1), is_last=is_last)
    return [reading.epoch for reading in memory.readings]


def test_short_epochs_are_not_read_out_of_proportion() -> None:
    read = read_at(0.002, num_epochs=1000)
    assert read[:3] == [0, 1, 2]
    assert read[-1] == 999
    assert len(read) == pytest.approx(1000 * 0.002 * 0.05 / 0.01, abs=2), "a twentieth of the time"
