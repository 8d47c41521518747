"""Laws of step times, and how often the interval of a run that the stop rule ended is right."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from orchestrator.measurement.blocks import Block
from orchestrator.measurement.throughput import HALF_WIDTH, StopRule, Throughput, measure_throughput

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

SAMPLES = 10
MEAN_S = 0.01
MAX_STEPS = 20_000


def independent(rng: np.random.Generator, count: int) -> Floats:
    """Draw independent steps that vary by a quarter."""
    return MEAN_S * rng.gamma(16, 1 / 16, size=count)


def correlated(carried: float, cv: float) -> Draw:
    """Return a law of correlated steps: an AR(1) on the logarithmic scale."""

    def draw(rng: np.random.Generator, count: int) -> Floats:
        fresh = rng.normal(size=count) * math.sqrt(1 - carried**2)
        fresh[0] = rng.normal()
        deviation: Floats = lfilter([1.0], [1.0, -carried], fresh)
        return MEAN_S * np.exp(cv * deviation - cv**2 / 2)

    return draw


def in_bursts(rng: np.random.Generator, count: int) -> Floats:
    """Draw steps behind three workers: a wait, then two batches that are there."""
    round_s = np.resize([0.03, 0.001, 0.001], count)
    return round_s * rng.gamma(16, 1 / 16, size=count)


def with_rare_slow_steps(rng: np.random.Generator, count: int) -> Floats:
    """Draw steps of which one in a hundred takes five times as long."""
    steady = MEAN_S * rng.gamma(100, 1 / 100, size=count)
    return np.where(rng.random(count) < 0.01, 5 * steady, steady)


def between_two_speeds(rng: np.random.Generator, count: int) -> Floats:
    """Draw steps 15 % slower and faster by turns, for 50 steps each on average."""
    slow = np.cumsum(rng.random(count) < 0.02) % 2
    return MEAN_S * (1 + 0.15 * slow) * rng.gamma(100, 1 / 100, size=count)


@dataclass(frozen=True, kw_only=True)
class Law:
    """Law of step times, and the steps after which its pattern repeats."""

    draw: Draw
    burst: int = 1


LAWS: dict[str, Law] = {
    "independent": Law(draw=independent),
    "correlated, 0.5": Law(draw=correlated(0.5, 0.2)),
    "correlated, 0.9": Law(draw=correlated(0.9, 0.2)),
    "correlated, 0.97": Law(draw=correlated(0.97, 0.1)),
    "in bursts": Law(draw=in_bursts, burst=6),
    "with rare slow steps": Law(draw=with_rare_slow_steps),
    "between two speeds": Law(draw=between_two_speeds),
}


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Coverage of the intervals of some traces."""

    share: float  # share of the intervals that contain the true rate
    steps: float  # median of the steps until the end
    stopped: float  # share of the traces that the rule ended


def coverage_of(law: Law, *, traces: int, seed: int = 0, max_steps: int = MAX_STEPS) -> Coverage:
    """Replay traces drawn from ``law``."""
    rng = np.random.default_rng(seed)
    true = SAMPLES / law.draw(np.random.default_rng(seed + 1), 2_000_000).mean()
    holds, steps, stopped = [], [], []
    for _ in range(traces):
        blocks = blocks_of_steps(law.draw(rng, max_steps), 2 * law.burst)
        throughput, num_steps, by_rule = replayed(blocks, burst=law.burst)
        holds.append(throughput.low <= true <= throughput.high)
        steps.append(num_steps)
        stopped.append(by_rule)
    return Coverage(
        share=float(np.mean(holds)), steps=float(np.median(steps)), stopped=float(np.mean(stopped))
    )


def blocks_of_steps(durations: Floats, size: int) -> list[Block]:
    """Return blocks of ``size`` steps with these durations, all of them after a first round."""
    count = len(durations) // size
    sums = durations[: count * size].reshape(count, size).sum(axis=1)
    return [
        Block(
            epoch=0, first_step=(index + 1) * size, num_steps=size, samples=SAMPLES * size,
            duration_s=float(duration), end=None, phases={},
        )
        for index, duration in enumerate(sums)
    ]  # fmt: skip


def replayed(blocks: list[Block], *, burst: int) -> tuple[Throughput | None, int, bool]:
    """Return throughput, steps and whether the rule ended it, of a run of these blocks."""
    rule = StopRule(HALF_WIDTH)
    num_steps = 0
    for index, block in enumerate(blocks, start=1):
        num_steps += block.num_steps
        if rule.is_due(num_steps, burst) and rule.is_enough(num_steps, blocks[:index]):
            return measure_throughput(blocks[:index]), num_steps, True
    return measure_throughput(blocks), num_steps, False
