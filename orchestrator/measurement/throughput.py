"""Throughput: samples over time in the steady state, with an interval; and the stop rule by it.

Rates are taken over blocks of several rounds of loader bursts. A
median of step rates is no throughput: with three workers batches come in bursts, and it
was 2.5 times too high.

Stopping as soon as an interval looks narrow enough stops at lucky moments, and the interval
then contains the true rate less often than 95 %. Four things keep that small: nothing is
decided before there are enough steps; interim analyses become rarer as the run gets longer; the
interval must be narrower than asked for by a margin; and two analyses in a row must agree.
``tests/orchestrator/measurement/test_throughput.py`` counts how often it is then right.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.formats import percent
from orchestrator.measurement.blocks import Block

MIN_BATCHES = 4
"""Least batches for an interval."""
MAX_BATCHES = 32
"""Most batches; more are merged, since longer batches are less correlated."""
FEW_BATCHES = 8
"""Least batches after merging those that resemble their neighbours."""
WIDER = 1.08
"""Factor by which intervals are wider than the formula has them: the stop rule goes by them."""
WARM_UP_BATCHES = 64
"""Grain in which the warm-up is searched for."""
OUTLYING = 1.0
"""Largest distance of a logarithm from the median's that counts; further ones count as this."""
WARM_UP_ERRORS = 3.0
"""Standard errors by which a warm-up must be slower than the rest."""

LONGEST_WARM_UP_S = 5.0
"""Most time that a warm-up takes. In 114 undisturbed trials of the six sweeps in
``analysis/notebooks/recorded`` it took 3.5 s once and 1.5 s at most otherwise. The share of the run
is no measure: short trials lost up to 54 % to it."""

_Floats = NDArray[np.float64]

# Student's t at 97.5 % for 1, 2, ... degrees of freedom.
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
    2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
    2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """Throughput in the steady state, in samples a second.

    Attributes:
        rate: Samples over time, warm-up and both ends of epochs left out.
        low: Lower end of the 95 % interval over the run's batches of blocks, or None.
        high: Upper end, or None.
        steady: The blocks it was taken over.
        warm_up: The blocks before them that were dropped.
    """

    rate: float
    low: float | None
    high: float | None
    steady: Sequence[Block]
    warm_up: Sequence[Block] = ()

    @property
    def warm_up_tags(self) -> dict[str, str]:
        """How much was dropped as warm-up, and whether it was more than a warm-up; may be empty."""
        if not self.warm_up:
            return {}
        _, cold_s = _sums(self.warm_up).sum(axis=0)
        samples, whole_s = _sums([*self.warm_up, *self.steady]).sum(axis=0)
        tags = {"warm_up": f"{cold_s:.1f} s ({percent(cold_s / whole_s)}) of slower steps"}
        if cold_s > LONGEST_WARM_UP_S and self.rate > (1 + HALF_WIDTH) * samples / whole_s:
            tags["slow_start"] = f"{tags['warm_up']} at its start were dropped, more than a warm-up"
        return tags

    @property
    def is_of_whole_epochs(self) -> bool:
        """True where epochs were too short for a steady state; their starts are in the rate."""
        return all(block.first_step == 0 for block in self.steady)

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width as a fraction of the rate; None without an interval."""
        if self.low is None or self.high is None or not self.rate:
            return None
        return (self.high - self.low) / 2 / self.rate


def measure_throughput(blocks: Sequence[Block]) -> Throughput | None:
    """Return the throughput of a run, or None where it has no steady block.

    Args:
        blocks: All blocks so far, in order, ends of epochs among them.
    """
    running = [block for block in blocks if block.end is None]
    # A part of an epoch that is too short for a steady state begins with the start of its workers.
    running = [block for block in running if block.first_step] or running
    num_cold = warm_up(running)
    steady = running[num_cold:]
    if not steady:
        return None
    sums = _sums(steady)
    samples, seconds = map(float, sums.sum(axis=0))
    rate = samples / seconds
    low, high = _interval(sums, rate) or (None, None)
    return Throughput(
        rate=rate,
        low=None if low is None else max(low, 0.0),
        high=high,
        steady=steady,
        warm_up=running[:num_cold],
    )


def warm_up(blocks: Sequence[Block]) -> int:
    """Return the number of leading blocks to drop, at most half of them.

    The marginal standard error rule (MSER): drop as many as make the standard error of
    the rest smallest. White, "An effective truncation heuristic for bias reduction in
    simulation output", Simulation 69(6), 1997. By itself it also cuts off the noisier half of
    a run that has no warm-up, and so promises too narrow an interval. Hence the blocks cut off
    must be clearly slower than the rest.
    """
    if not blocks:
        return 0
    size = math.ceil(len(blocks) / WARM_UP_BATCHES)
    batches = np.add.reduceat(_sums(blocks), range(0, len(blocks), size))
    levels = _levels(batches[:, 0] / batches[:, 1])
    num = _lowest_error(levels)
    return num * size if num and _clearly_slower(levels[:num], levels[num:]) else 0


def _levels(rates: _Floats) -> _Floats:
    """Return logarithms of rates, outliers clipped: a single stall is to hide no warm-up."""
    middle = np.median(rates)
    if middle <= 0.0:
        return np.zeros_like(rates)
    lowest = middle * math.exp(-OUTLYING)
    return np.minimum(np.log(np.maximum(rates, lowest) / middle), OUTLYING)


def _lowest_error(levels: _Floats) -> int:
    """Return the number to drop for the smallest standard error, from running sums of the rest."""
    centred, most = levels - levels.mean(), len(levels) // 2 + 1
    sums, squares = (each[::-1].cumsum()[::-1][:most] for each in (centred, centred**2))
    left = len(levels) - np.arange(most)
    spread = squares - sums**2 / left
    # Below the sums' own rounding there is none, and the smallest is taken.
    errors = np.where(spread > 1e-9 * squares[0], spread / left**2, 0.0)
    return int(np.where(left < 2, math.inf, errors).argmin())


def _clearly_slower(first: _Floats, rest: _Floats) -> bool:
    spread = rest.std(ddof=1) if len(rest) > 1 else 0.0
    error = spread * math.sqrt(1 / len(first) + 1 / len(rest))
    # The last term is for rounding: it makes equal rates differ.
    return bool(first.mean() < rest.mean() - WARM_UP_ERRORS * error - 1e-9)


def _sums(blocks: Sequence[Block]) -> _Floats:
    """Return samples and seconds of blocks, of shape (blocks, 2)."""
    return np.array([(block.samples, block.duration_s) for block in blocks])


# -- the interval


def _interval(blocks: _Floats, rate: float) -> tuple[float, float] | None:
    """Return the 95 % interval of a ratio of sums, by batch means.

    Neighbouring blocks resemble each other (bursts, clocks, interference), so they are put
    into at most 32 batches, and these merged further while they still do. The remaining
    correlation widens the interval, and where slow batches are rarer than fast ones it reaches
    further down than up (Tafazzoli and Wilson, "Skart: A skewness- and
    autoregression-adjusted batch-means procedure", IIE Transactions 43(2), 2011).
    """
    count = min(len(blocks), MAX_BATCHES)
    begins = [round(len(blocks) * index / count) for index in range(count)]
    # Samples of each batch beyond those at the rate.
    residuals = np.add.reduceat(blocks @ (1, -rate), begins)
    # Independent ones are less correlated in nine of ten cases.
    while count >= 2 * FEW_BATCHES and _autocorrelation(residuals) > 1.28 / math.sqrt(count):
        # An odd last one joins the pair before it.
        residuals = np.add.reduceat(residuals, range(0, count - 1, 2))
        count = len(residuals)
    if count < MIN_BATCHES:
        return None
    error = math.sqrt(residuals @ residuals * count / (count - 1)) / blocks[:, 1].sum()
    left = max(_autocorrelation(residuals), 0.0) if count > MIN_BATCHES else 0.0
    error *= WIDER * math.sqrt((1 + left) / (1 - left))
    t = _T_975[min(count - 1, len(_T_975)) - 1]  # beyond 30 degrees no smaller than the exact one
    skewness = _scaled_skewness(residuals)
    low, high = (_skew_adjusted_t(sign * t, skewness) for sign in (1, -1))
    return float(rate - low * error), float(rate - high * error)


def _scaled_skewness(residuals: _Floats) -> float:
    """Return the skewness of the batches' mean over six; negative where slow ones are rare."""
    count = len(residuals)
    spread = math.sqrt(residuals @ residuals / (count - 1))
    if count <= MIN_BATCHES or spread == 0.0:
        return 0.0
    third = float((residuals**3).sum()) * count / ((count - 1) * (count - 2))
    return third / spread**3 / (6 * math.sqrt(count))


def _skew_adjusted_t(t: float, skewness: float) -> float:
    """Return Student's t, adjusted for the mean of a skewed distribution.

    Willink, "A confidence interval and test for the mean of an asymmetric distribution",
    Communications in Statistics 34(4), 2005.
    """
    if abs(skewness) < 1e-3:
        return t
    inner = 1 + 6 * skewness * (t - skewness)
    return (math.copysign(abs(inner) ** (1 / 3), inner) - 1) / (2 * skewness)


def _autocorrelation(residuals: _Floats) -> float:
    """Return the lag-1 autocorrelation, at most 0.9."""
    total = residuals @ residuals
    return min(float(residuals[:-1] @ residuals[1:] / total), 0.9) if total > 0.0 else 0.0


HALF_WIDTH = 0.03
"""Half width of an interval, as a fraction of the rate, above which it is called wide."""
MIN_STEPS = 512
"""Steps before the first analysis: rare slow steps are a part of the rate."""
MIN_BLOCKS = 64
"""Blocks before the first analysis."""
GROWTH = 1.5
"""Factor of the steps from one analysis to the next."""
MARGIN = 1.6
"""Factor by which an interval must be narrower than asked for."""
AGREEING = 2
"""Analyses in a row that must find it narrow."""


class StopRule:
    """Group-sequential rule that ends a run once its throughput is known well enough.

    Args:
        half_width: Of the interval, as a fraction of the rate.
    """

    def __init__(self, half_width: float) -> None:
        self._half_width = half_width
        self._next_analysis = MIN_STEPS
        self._agreeing = 0

    def is_due(self, num_steps: int, burst: int = 1) -> bool:
        """Return True if an interim analysis is due after so many steps.

        The loader's pattern repeats after ``burst`` steps.
        """
        return num_steps >= max(self._next_analysis, MIN_BLOCKS * 2 * burst)

    def is_enough(self, num_steps: int, blocks: Sequence[Block]) -> bool:
        """Analyse the blocks of the ``num_steps`` steps so far; return True if they are enough."""
        self._next_analysis = int(num_steps * GROWTH) + 1
        throughput = measure_throughput(blocks)
        width = None if throughput is None else throughput.half_width
        narrow = width is not None and width * MARGIN <= self._half_width
        self._agreeing = self._agreeing + 1 if narrow else 0
        return self._agreeing >= AGREEING
