"""TimedLoader: steps of a loop over a loader of known length."""

from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from orchestrator.integrations.loaders import FollowedLoop, TimedLoader, samples_in
from orchestrator.measurement.blocks import burst_of, workers_of
from orchestrator.measurement.run import Phase, Run
from tests.orchestrator.integrations.loops import make_run

ROWS = TensorDataset(torch.arange(10.0))
Pair = namedtuple("Pair", "left right")


@dataclass
class Graph:
    nodes: torch.Tensor


@pytest.mark.parametrize(
    "batch",
    [
        np.zeros(3),
        [torch.zeros(3, 2), torch.zeros(3)],
        {"rows": torch.zeros(3, 2), "labels": torch.zeros(3), "weight": torch.tensor(1.0)},
        {"deep": {"er": [(torch.zeros(3),)]}, "names": ["a", "b", "c"]},
        Pair(torch.zeros(3), {"x": torch.zeros(3, 1)}),
        Graph(torch.zeros(3)),
        ["a", "b", "c"],
    ],
)
def test_samples_of_a_batch_are_its_first_dimension(batch: object) -> None:
    assert samples_in(batch) == 3


@pytest.mark.parametrize("batch", [{"a": torch.zeros(3), "b": torch.zeros(4)}, object(), []])
def test_a_batch_of_unknown_size_is_refused_with_the_way_out(batch: object) -> None:
    with pytest.raises(ValueError, match=r"samples=lambda batch"):
        samples_in(batch)


def trained(run: Run, loader: TimedLoader[Any], *, interrupt_after: int | None = None) -> list[int]:
    """Go through all epochs as a framework does that stops at the length; return their batches."""
    taken = []
    for _ in run.epochs():
        iter(loader)  # made and never used, as Lightning does it
        batches = iter(loader)
        for index in range(len(loader)):
            next(batches)
            with run.phase(Phase.FORWARD):
                pass
            more = loader.finish_batch()
            if index + 1 == interrupt_after:
                loader.interrupt()
            if not more:
                break
        taken.append(index + 1)
        run.report(val_acc=0.5)
    return taken


@pytest.mark.parametrize("after", [1, 3, 5])
@pytest.mark.parametrize("per_step", [1, 2])
def test_an_interrupted_epoch_loses_no_batch(tmp_path: Path, after: int, per_step: int) -> None:
    run, reports = make_run(tmp_path)
    loader = TimedLoader(DataLoader(ROWS, 2), run, batches_per_step=per_step)
    assert trained(run, loader, interrupt_after=after) == [5, 5]
    assert [report.samples for report in reports.kept] == [10, 20]
    assert reports.of("epoch_s") == ([None, None] if after < 5 else reports.of("epoch_s"))


def test_a_loop_that_fetches_ahead_trains_what_it_was_given(tmp_path: Path) -> None:
    """Lightning does so with a loader of unknown length."""
    run, reports = make_run(tmp_path, epochs=1)
    loader = TimedLoader(iter([torch.zeros(2)] * 3), run)
    next(run.epochs())
    batches = iter(loader)
    in_hand = [next(batches)]
    num_trained = 0
    while in_hand:
        in_hand += [batch for batch in [next(batches, None)] if batch is not None]
        in_hand.pop(0)
        num_trained += 1
        assert loader.finish_batch() == bool(in_hand)
    run.report()
    assert (num_trained, reports.kept[-1].samples) == (3, 6)


@pytest.mark.parametrize(("per_step", "ahead"), [(1, 6), (4, 2), (8, 2)])
def test_steps_are_made_ahead_as_declared(tmp_path: Path, per_step: int, ahead: int) -> None:
    run, _ = make_run(tmp_path)
    inner = DataLoader(ROWS, 4, num_workers=2, prefetch_factor=3)
    loader = TimedLoader(inner, run, batches_per_step=per_step)
    assert burst_of(inner) == 6
    assert burst_of(DataLoader(ROWS, 4, num_workers=1, prefetch_factor=1)) == 2
    assert burst_of(DataLoader(ROWS, 4)) == 1
    assert burst_of(loader.grouped()) == ahead
    assert workers_of(loader.grouped()) == 2
    assert burst_of(TimedLoader(iter([torch.zeros(2)]), run).grouped()) == 1


def test_several_ranks_need_a_share_each(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path, world_size=2)
    with pytest.raises(ValueError, match=r"sampler=DistributedSampler"):
        TimedLoader(DataLoader(ROWS, 4, shuffle=True), run)
    sampler: DistributedSampler[Any] = DistributedSampler(ROWS, 2, 0)
    loader = TimedLoader(DataLoader(ROWS, 4, sampler=sampler), run)
    assert loader.num_samples([next(iter(DataLoader(ROWS, 4)))]) == 8, "over all ranks"


# -- a run that follows another framework's loop


def test_epochs_are_counted_and_reported_by_names_of_ones_own(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=3, pause_after=2)
    loop = FollowedLoop(run, {"acc/val": "val_acc"})
    for accuracy in (0.25, 0.5):
        loop.begin_epoch()
        loop.keep({"acc/val": torch.tensor(accuracy), "names": ["a"], "matrix": np.eye(2)})
        loop.keep({"f1": np.float32(0.5), "kind": "macro"})
        loop.report()
    loop.end_training()
    loop.end_training()
    assert [report.epoch for report in reports.kept] == [1, 2]
    assert reports.of("val_acc") == [0.25, 0.5]
    assert reports.of("f1") == [0.5, 0.5]
    assert not {"names", "matrix", "kind", "acc/val"} & set(reports.kept[0].metrics)
    assert run.ending[1] == "paused after 2 of 3 epochs"
