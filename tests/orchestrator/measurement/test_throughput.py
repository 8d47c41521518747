from __future__ import annotations

import math
import random
import statistics

import pytest

from orchestrator.measurement.phases import Phase, Step
from orchestrator.measurement.throughput import measure_throughput, t_975, warm_up


def steps_of(durations: list[list[float]], samples: int = 10) -> list[Step]:
    """Steps from their durations, a list an epoch."""
    steps, now = [], 0.0
    for epoch, epoch_durations in enumerate(durations):
        for duration in epoch_durations:
            steps.append(Step(epoch, now, now + duration, samples, {Phase.WAIT: 0.0}))
            now += duration
        now += 1.0  # evaluation between epochs
    return steps


def test_is_samples_over_time_in_bursts_too() -> None:
    # Three workers: one slow step, two for which the batch is already there.
    bursts = [0.030, 0.001, 0.001] * 100
    found = measure_throughput(steps_of([[0.5, *bursts]]), burst=6)
    assert found is not None
    assert found.rate == pytest.approx(10 * 300 / sum(bursts), rel=0.01)
    assert found.rate < 0.2 * 10 / statistics.median(bursts), "a median of steps would be 10x"


def test_leaves_out_starts_of_epochs_and_evaluation() -> None:
    found = measure_throughput(steps_of([[3.0] + [0.01] * 40] * 3))
    assert found is not None
    assert found.rate == pytest.approx(1000)


def test_drops_a_warm_up_of_30_slow_steps() -> None:
    durations = [0.1] * 31 + [0.01] * 300
    found = measure_throughput(steps_of([durations]))
    assert found is not None
    assert found.rate == pytest.approx(1000, rel=0.01)


def test_keeps_everything_where_nothing_warms_up() -> None:
    rng = random.Random(0)
    kept = []
    for _ in range(50):
        rates = [rng.gauss(100, 5) for _ in range(32)]
        kept.append(len(rates) - warm_up(rates))
    assert statistics.mean(kept) > 24


def test_interval_holds_the_rate_of_the_process_about_as_often_as_it_says() -> None:
    rng = random.Random(1)
    held = 0
    for _ in range(300):
        durations = [rng.gammavariate(16, 0.01 / 16) for _ in range(320)]
        found = measure_throughput(steps_of([durations]))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1000 <= found.high
    assert 0.88 <= held / 300 <= 0.99


def test_has_no_figure_without_a_step() -> None:
    assert measure_throughput([]) is None


def test_keeps_the_only_step_of_an_epoch() -> None:
    found = measure_throughput(steps_of([[0.1]] * 12))
    assert found is not None
    assert found.rate == pytest.approx(100)
    assert found.low == pytest.approx(100)


def test_keeps_the_only_step_of_a_run() -> None:
    found = measure_throughput(steps_of([[0.1]]))
    assert found is not None
    assert found.rate == pytest.approx(100)
    assert found.low is None


def test_has_no_interval_from_few_blocks() -> None:
    found = measure_throughput(steps_of([[0.1] * 4]))
    assert found is not None
    assert (found.low, found.high) == (None, None)


def test_t_is_students() -> None:
    stats = pytest.importorskip("scipy.stats")
    for degrees in range(1, 31):
        assert t_975(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=6e-4)
    assert t_975(1000) >= stats.t.ppf(0.975, 1000)
    assert math.isclose(t_975(1000), t_975(30))
