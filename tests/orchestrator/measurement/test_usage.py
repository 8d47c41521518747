"""CPU time and faults of this process, and torch's settings in it."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from orchestrator.measurement.run import Run
from orchestrator.measurement.usage import (
    Memory,
    MemoryAtEnds,
    Usage,
    memory_at,
    memory_figures,
    settings,
    usage_now,
)
from orchestrator.trial import Budget
from tests.orchestrator.measurement.fakes import FakeClock, Listener, context


def test_usages_are_added_and_subtracted_field_by_field() -> None:
    first = Usage(user_s=1.0, system_s=2.0, minor_faults=3)
    second = Usage(user_s=0.5, system_s=0.25, minor_faults=2)
    assert first + second == Usage(user_s=1.5, system_s=2.25, minor_faults=5)
    assert first - second == Usage(user_s=0.5, system_s=1.75, minor_faults=1)


def test_work_of_this_process_shows() -> None:
    before = usage_now()
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    with mmap.mmap(-1, 4 * 2**20) as pages:
        pages.write(b"x" * len(pages))
    spent = usage_now() - before
    assert spent.user_s + spent.system_s >= 0.04
    assert spent.minor_faults >= 2, "pages of 2 MiB at the largest"


def test_torch_s_settings_are_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings() == {"threads": str(torch.get_num_threads()), "deterministic": "off"}
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    assert settings()["deterministic"] == "cudnn"


MIB = 2**20


class Leaky(Dataset[int]):
    """Data set that keeps half a MiB of each item that is asked for."""

    def __init__(self, leaks: bool) -> None:
        self._kept: list[bytes] = []
        self._leaks = leaks

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> int:
        made = bytes([index + 1]) * (MIB // 2)
        if self._leaks:
            self._kept.append(made)
        return index


def trained(loader: DataLoader[int], *, epochs: int) -> dict[str, float]:
    listener = Listener()
    run = Run(context(budget=Budget(epochs=epochs)), listener)
    for _ in run.epochs():
        for _ in run.batches(loader, samples=len):
            pass
        run.report()
    return listener.metrics


def loader_of(*, leaks: bool, persistent: bool) -> DataLoader[int]:
    return DataLoader(
        Leaky(leaks), batch_size=2, num_workers=2, persistent_workers=persistent,
        worker_init_fn=_one_thread,
    )  # fmt: skip


def _one_thread(_: int) -> None:
    torch.set_num_threads(1)


def test_a_list_that_leaks_in_the_workers_shows() -> None:
    figures = trained(loader_of(leaks=True, persistent=True), epochs=4)
    assert figures["worker_growth_mib_per_epoch"] == pytest.approx(8, rel=0.2)
    assert 0.05 < figures["peak_pss_gib"] < 8


def test_workers_that_keep_nothing_do_not_grow() -> None:
    figures = trained(loader_of(leaks=False, persistent=True), epochs=4)
    assert abs(figures["worker_growth_mib_per_epoch"]) < 1


def end(epoch: int, *, pss: int = 1, **private: int) -> Memory:
    """Return a reading at the end of an epoch, in MiB; workers by name."""
    workers = {(ord(name), 0.5): size * MIB for name, size in private.items()}
    return Memory(epoch=epoch, pss_bytes=pss * MIB, private_bytes=workers)


def test_growth_is_that_of_all_workers_and_its_median_over_epochs() -> None:
    ends = [
        end(0, pss=10, a=1, b=1, c=9),  # c does not persist
        end(1, pss=30, a=2, b=3),
        end(2, pss=20, a=3, b=5),
        end(3, pss=20, a=50, b=5),
    ]
    figures = dict(memory_figures(ends))
    assert figures["worker_growth_mib_per_epoch"] == 3
    assert figures["peak_pss_gib"] == 30 / 1024


def test_growth_is_an_epochs_where_ends_were_left_out() -> None:
    copied_at_first = [end(0, a=10), end(1, a=50), end(2, a=90), end(12, a=110)]
    assert dict(memory_figures(copied_at_first))["worker_growth_mib_per_epoch"] == 2


def test_an_epoch_in_parts_grows_once() -> None:
    ends = [end(0, a=10), end(1, a=15), end(1, pss=7, a=20), end(2, a=40), end(3, a=60)]
    figures = dict(memory_figures(ends))
    assert figures["worker_growth_mib_per_epoch"] == 20
    assert figures["peak_pss_gib"] == 7 / 1024, "of every reading"


def test_growth_is_absent_where_no_worker_persists_or_epochs_are_few() -> None:
    anew = dict(memory_figures([end(0, a=1), end(1, b=2), end(2, c=3)]))
    assert "worker_growth_mib_per_epoch" not in anew
    assert "peak_pss_gib" in anew
    short = dict(memory_figures([end(0, a=1), end(1, a=2)]))
    assert "worker_growth_mib_per_epoch" not in short
    assert dict(memory_figures([])) == {}


def read_at(epoch_s: float, *, num_epochs: int) -> list[int]:
    """Return the epochs at whose ends the memory is read, where a reading takes 10 ms."""
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


def test_long_epochs_are_read_at_every_end() -> None:
    assert read_at(600.0, num_epochs=10) == list(range(10))


class Mapped(Dataset[int]):
    """Data set that reads another part of a large mapped file for each item."""

    def __init__(self, path: Path) -> None:
        self._bytes = np.memmap(path, np.uint8, mode="r")
        self._asked = 0

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> int:
        begin = (16 * self._asked + index) * MIB // 2
        self._asked += index == 15
        return int(self._bytes[begin : begin + MIB // 2].max())


def test_pages_of_a_mapped_file_are_no_growth_of_their_reader(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    with path.open("wb") as file:
        file.write(bytes(64 * MIB))
        os.fsync(file)  # dirty pages count as written by the process that maps them
    figures = trained(
        DataLoader(
            Mapped(path), batch_size=2, num_workers=1, persistent_workers=True,
            worker_init_fn=_one_thread,
        ),
        epochs=4,
    )  # fmt: skip
    assert abs(figures["worker_growth_mib_per_epoch"]) < 1, "8 MiB an epoch are read"


def test_reads_the_memory_of_this_process() -> None:
    before = memory_at(0)
    taken = mmap.mmap(-1, 64 * MIB)
    taken.write(b"x" * (64 * MIB))
    after = memory_at(0)
    assert before is not None
    assert after is not None
    assert after.pss_bytes - before.pss_bytes == pytest.approx(64 * MIB, rel=0.2)
    taken.close()
