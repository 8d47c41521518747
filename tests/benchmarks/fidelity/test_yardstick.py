"""The yardstick of the host between a trial's epochs."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence

import pytest
import torch

from benchmarks.fidelity.yardstick import (
    MIN_GAP_S,
    Reading,
    gathers_per_s,
    host_figures,
    watched,
)
from orchestrator import Trainable, knobs, systems
from orchestrator.measurement.run import Context, Run
from orchestrator.provenance.source_hash import source_hash
from orchestrator.trial import Budget, Report


def readings_at(
    speeds: Sequence[float], rate_at: Callable[[float], float], seed: int = 0, noise: float = 0.0
) -> list[Reading]:
    """Return readings of a trial, one a second, that trains at ``rate_at`` the host's speed."""
    draw, samples, readings = random.Random(seed), 0.0, []
    for second, speed in enumerate(speeds):
        if second:
            between = math.sqrt(speed * speeds[second - 1])
            samples += rate_at(between) * math.exp(draw.gauss(0, noise))
        readings.append(Reading(gathers_per_s=speed, samples=round(samples), train_s=1.0 + second))
    return readings


SPEEDS = [400.0, 300.0, 310.0, 420.0, 400.0, 280.0, 290.0, 410.0, 400.0, 300.0]


def test_the_mean_is_that_of_ratios() -> None:
    figures = dict(host_figures(readings_at([100.0, 400.0], lambda _: 1e6)))
    assert figures == {"host_speed": pytest.approx(200.0)}


@pytest.mark.parametrize("power", [1.0, 0.6, 0.0])
def test_the_slope_is_the_trials_change_for_one_of_the_hosts(power: float) -> None:
    figures = dict(host_figures(readings_at(SPEEDS, lambda speed: 1e6 * speed**power, noise=0.02)))
    assert figures["host_speed_slope"] == pytest.approx(power, abs=0.15)


@pytest.mark.parametrize(
    ("speeds", "noise"),
    [(SPEEDS[:6], 0.0), (SPEEDS, 0.5), ([400.0] * 10, 0.1)],
    ids=["too few stretches", "lost in noise", "a host that does not change"],
)
def test_an_unknown_slope_is_left_out(speeds: Sequence[float], noise: float) -> None:
    figures = dict(host_figures(readings_at(speeds, lambda speed: 1e6 * speed, noise=noise)))
    assert list(figures) == ["host_speed"]


def test_without_a_reading_there_are_no_figures() -> None:
    assert dict(host_figures([])) == {}


@pytest.mark.alone
def test_the_yardstick_is_the_same_whatever_the_knobs() -> None:
    """Neither torch's threads nor its random numbers have a part in it."""
    torch.manual_seed(0)
    before = torch.get_rng_state()
    threads = torch.get_num_threads()
    best = {1: 0.0, 2: 0.0}
    for _ in range(50):
        for count in best:
            torch.set_num_threads(count)
            best[count] = max(best[count], gathers_per_s())
    torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), before)
    assert 0.6 < best[2] / best[1] < 1 / 0.6


class LastReport:
    """A channel that has the last report."""

    report_: Report

    def report(self, report: Report) -> bool:
        self.report_ = report
        return False


@knobs
class Config:
    """Knobs of a training loop that sleeps."""

    step_s: float = systems(default=0.0, ge=0, doc="time of a step")


def train(config: Config, run: Run) -> None:
    for _ in run.epochs():
        for _batch in run.batches(range(5), samples=lambda _: 10):
            time.sleep(config.step_s)
        run.report(train_loss=0.0)


def metrics_of(config: Config, read: Callable[[], float], *, epochs: int) -> Mapping[str, float]:
    channel = LastReport()
    run = Run(Context(seed=0, budget=Budget(epochs=epochs)), channel)
    watched(Trainable(train, Config), read).train(config, run)
    return channel.report_.metrics


def test_a_reading_is_no_part_of_what_is_timed() -> None:
    took_s = 0.2

    def read_slowly() -> float:
        time.sleep(took_s)
        return 100.0

    metrics = metrics_of(Config(), read_slowly, epochs=1)
    assert metrics["host_speed"] == pytest.approx(100.0)
    assert metrics["train_s"] < took_s
    assert metrics["epoch_s"] < took_s


def test_readings_are_some_training_time_apart() -> None:
    read: list[float] = []

    def count() -> float:
        read.append(100.0)
        return 100.0

    metrics = metrics_of(Config(step_s=0.002), count, epochs=30)
    assert 2 <= len(read) <= metrics["train_s"] / MIN_GAP_S + 1


def test_the_source_of_a_watched_trainable_is_its_own() -> None:
    trainable = Trainable(train, Config)
    assert source_hash(watched(trainable)) == source_hash(trainable)
