from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence

import pytest
import torch

from orchestrator.measurement import host_speed
from orchestrator.measurement.host_speed import HostSpeed, Look, gathers_per_s, host_figures
from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget, Report


def looks_at(
    speeds: Sequence[float], rate_at: Callable[[float], float], seed: int = 0, noise: float = 0.0
) -> list[Look]:
    """A trial that trains a second from each look to the next, at ``rate_at`` the host's speed."""
    draw, samples, looks = random.Random(seed), 0.0, []
    for second, speed in enumerate(speeds):
        if second:
            between = math.sqrt(speed * speeds[second - 1])
            samples += rate_at(between) * math.exp(draw.gauss(0, noise))
        looks.append(Look(gathers_per_s=speed, samples=round(samples), train_s=1.0 + second))
    return looks


SPEEDS = [400.0, 300.0, 310.0, 420.0, 400.0, 280.0, 290.0, 410.0, 400.0, 300.0]


def test_the_mean_is_that_of_ratios() -> None:
    figures = dict(host_figures(looks_at([100.0, 400.0], lambda _: 1e6)))
    assert figures == {"host_speed": pytest.approx(200.0)}


@pytest.mark.parametrize("power", [1.0, 0.6, 0.0])
def test_the_slope_is_what_the_trial_s_speed_makes_of_the_host_s(power: float) -> None:
    figures = dict(host_figures(looks_at(SPEEDS, lambda speed: 1e6 * speed**power, noise=0.02)))
    assert figures["host_speed_slope"] == pytest.approx(power, abs=0.15)


@pytest.mark.parametrize(
    ("speeds", "noise"),
    [(SPEEDS[:6], 0.0), (SPEEDS, 0.5), ([400.0] * 10, 0.1)],
    ids=["too few stretches", "lost in noise", "a host that does not change"],
)
def test_a_slope_that_is_not_known_is_not_told(speeds: Sequence[float], noise: float) -> None:
    figures = dict(host_figures(looks_at(speeds, lambda speed: 1e6 * speed, noise=noise)))
    assert list(figures) == ["host_speed"]


def test_nothing_is_said_of_a_host_that_was_not_looked_at() -> None:
    assert dict(host_figures([])) == {}


def test_looks_are_some_training_time_apart() -> None:
    watched = HostSpeed()
    for epoch in range(1, 11):
        watched.epoch_ends(samples=100 * epoch, train_s=0.04 * epoch)
    assert [look.train_s for look in watched.looks] == pytest.approx([0.04, 0.16, 0.28, 0.4])
    assert [look.samples for look in watched.looks] == [100, 400, 700, 1000]


def test_the_yardstick_is_the_same_whatever_the_knobs() -> None:
    """Neither torch's threads nor its random numbers have a part in it."""
    torch.manual_seed(0)
    before = torch.get_rng_state()
    threads = torch.get_num_threads()
    best = {}
    for count in (1, 2):
        torch.set_num_threads(count)
        best[count] = max(gathers_per_s() for _ in range(50))
    torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), before)
    assert 0.6 < best[2] / best[1] < 1 / 0.6


class Kept:
    """A channel that keeps what it hears."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def report(self, report: Report) -> bool:
        self.reports.append(report)
        return False


def test_a_look_is_no_part_of_what_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    took_s = 0.2

    def slow_look() -> float:
        time.sleep(took_s)
        return 100.0

    monkeypatch.setattr(host_speed, "gathers_per_s", slow_look)
    monkeypatch.setattr(host_speed, "MIN_GAP_S", 0.0)
    channel = Kept()
    run = Run(Context(seed=0, budget=Budget(epochs=3)), channel)
    for _ in run.epochs():
        for _batch in run.batches(range(5), samples=lambda _: 10):
            pass
        run.report(train_loss=0.0)
    metrics = channel.reports[-1].metrics
    assert metrics["host_speed"] == pytest.approx(100.0)
    assert metrics["train_s"] < took_s
    assert metrics["epoch_s"] < took_s
