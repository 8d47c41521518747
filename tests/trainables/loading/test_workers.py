import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import torch

from tests.conftest import ROOT
from tests.leaks import alive_after
from trainables.loading import BatchOrder, LoadedBatches
from trainables.settings import LoaderKnobs

ORDER = BatchOrder(num_samples=40, batch_size=4, seed=0)


def test_every_draw_arrives_in_order_with_any_workers() -> None:
    def fetched(knobs: LoaderKnobs) -> list[tuple[int, int, list[int]]]:
        loaded = LoadedBatches(lambda draw: draw, ORDER, knobs)
        return [
            (draw.epoch, draw.step, draw.indices.tolist())
            for epoch in range(2)
            for draw in loaded.epoch(epoch)
        ]

    alone = fetched(LoaderKnobs())
    assert len(alone) == 20
    assert alone[:10] != alone[10:]
    assert fetched(LoaderKnobs(num_workers=2)) == alone
    assert fetched(LoaderKnobs(num_workers=2, persistent_workers=True, prefetch_factor=3)) == alone


def test_loading_leaves_the_generator_of_training_alone() -> None:
    before = torch.random.get_rng_state()
    for num_workers in (0, 1):
        list(LoadedBatches(lambda draw: draw, ORDER, LoaderKnobs(num_workers=num_workers)).epoch(0))
    assert torch.equal(torch.random.get_rng_state(), before)


KILLED = """
import sys, time
from trainables.loading import BatchOrder, LoadedBatches
from trainables.settings import LoaderKnobs

def fetch(draw):
    if draw.step > 1:
        time.sleep(100)
    return draw.step

order = BatchOrder(num_samples=40, batch_size=4, seed=0)
batches = iter(LoadedBatches(fetch, order, LoaderKnobs(num_workers=2)).epoch(0))
next(batches)
sys.stdout.write("loading\\n")
sys.stdout.flush()
time.sleep(100)
"""


def test_workers_end_at_once_when_the_training_process_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process.stdout:
        assert process.stdout.readline() == "loading\n"
    workers = psutil.Process(process.pid).children()
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    # torch's own check of the parent runs every five seconds.
    assert alive_after([worker.pid for worker in workers], within_s=2) == []


@pytest.mark.gpu
@pytest.mark.parametrize("num_workers", [0, 1])
def test_pinned_batches_are_in_page_locked_memory(num_workers: int) -> None:
    for pin_memory in (False, True):
        knobs = LoaderKnobs(num_workers=num_workers, pin_memory=pin_memory)
        loaded = LoadedBatches(lambda _: (torch.zeros(3), 7), ORDER, knobs)
        for tensor, number in loaded.epoch(0):
            assert tensor.is_pinned() == pin_memory
            assert number == 7
