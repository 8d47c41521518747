"""Speeds composed of a loader, a model, a copy and the cores."""

from __future__ import annotations

import math
from typing import Any

import pytest

from orchestrator.analysis.bottlenecks.bounds import Tried, can_compose, composed_speed

LOADER_S, MODEL_S = 1 / 1000, 1 / 1500


def tried(workers: int, **figures: Any) -> Tried:  # noqa: ANN401 - fields of a Tried
    figures = {"loader_speed": 1 / LOADER_S, "compute_speed": 1 / MODEL_S, **figures}
    return Tried(**{"workers": workers, "cores": 2, "speed": 600.0, "cpu_s": math.nan, **figures})


@pytest.mark.parametrize(
    ("prefetch", "seconds"),
    [("off", LOADER_S + MODEL_S), ("thread", LOADER_S / 2 + MODEL_S)],
    ids=["one after the other", "at the same time, on two cores"],
)
def test_without_workers_a_thread_alone_fetches_while_the_model_computes(
    prefetch: str, seconds: float
) -> None:
    assert composed_speed(0, [tried(0)], prefetch=prefetch) == pytest.approx(1 / seconds)


def test_workers_share_the_loader_s_work() -> None:
    slow_loader = tried(0, loader_speed=100.0, cores=8)
    assert composed_speed(2, [slow_loader]) == pytest.approx(200.0)


def test_the_model_takes_its_batches_one_after_the_other() -> None:
    assert composed_speed(8, [tried(0, cores=64, cpu_s=2e-3)]) == pytest.approx(1500.0)


def test_the_cores_do_no_more_work_than_they_have_time_for() -> None:
    assert composed_speed(2, [tried(1, speed=900.0, cpu_s=1.8e-3)]) == pytest.approx(2 / 1.8e-3)


def test_without_cpu_time_the_work_is_that_of_loader_and_model() -> None:
    assert composed_speed(2, [tried(0)]) == pytest.approx(1 / (LOADER_S / 2 + MODEL_S))


def test_the_time_that_workers_and_model_cost_each_other_stays_with_more_workers() -> None:
    # As an MLP was seen to be: neither bound is near, and a sixth of the cores is not used.
    slowed = Tried(workers=4, cores=2, speed=27e3, loader_speed=138e3, compute_speed=39e3,
                   cpu_s=0.84 * 2 / 27e3)  # fmt: skip
    assert composed_speed(8, [slowed]) == pytest.approx(27e3)


@pytest.mark.parametrize(("workers", "counts", "can"), [(0, [1], False), (0, [0], True),
                                                        (3, [0], True)])  # fmt: skip
def test_a_loader_in_the_training_process_does_not_follow_from_workers(
    workers: int, counts: list[int], can: bool
) -> None:
    assert can_compose(workers, [tried(count) for count in counts]) == can
