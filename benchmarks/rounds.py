"""How often a confirm stage's intervals are wrong, and what it finds, in drawn stages.

The machine drifts by 3 % a round. The peer is a paired t test at 95 % over the same rounds.
"""

from __future__ import annotations

import argparse
import math
from statistics import fmean

import numpy as np
from scipy import stats

from orchestrator.analysis.statistics.intervals import Floats
from orchestrator.analysis.statistics.rounds import EARLY, level_of_looks, ratio_in_rounds
from orchestrator.sweep.rigor import Rigor

LOOKS = Rigor().analyses
_DRIFT, _MARGIN = 0.03, 0.02


def stage(logs: Floats, gain: float) -> tuple[bool, bool, int, float]:
    """Return whether an interval was wrong, whether the first config is faster, rounds and width.

    Args:
        logs: Log speeds, a row a round; the baseline last.
        gain: True logarithm of the first config's ratio; the others are equal to the baseline.

    Returns:
        The width is a multiple of the fixed test's.
    """
    num, wrong = logs.shape[1] - 1, False
    last = level_of_looks(LOOKS, num)
    for rounds in LOOKS:
        level = last * (1 if rounds == LOOKS[-1] else EARLY)
        found = [ratio_in_rounds(logs[:rounds], i, num, level) for i in range(num)]
        true = [math.exp(gain), *[1.0] * (num - 1)]
        wrong |= any(not each.low <= t <= each.high for each, t in zip(found, true, strict=True))
        _, low, high = found[0]
        if low > 1 or high < 1 or (low >= 1 - _MARGIN and high <= 1 / (1 - _MARGIN)):
            break
    pairs = logs[:rounds, 0] - logs[:rounds, -1]
    fixed = stats.t.ppf(0.975, rounds - 1) * stats.sem(pairs)
    return wrong, low > 1, rounds, math.log(high / low) / 2 / fixed


def stages(repeats: int, spread: float, num: int, gain: float) -> tuple[float, ...]:
    """Return the means of :func:`stage` over draws with ``num`` finalists.

    Args:
        repeats: Number of draws.
        spread: Standard deviation of a run's logarithm.
        num: Number of finalists.
        gain: Gain of the first one.
    """
    rng, found = np.random.default_rng(0), []
    for _ in range(repeats):
        logs = spread * rng.standard_normal((LOOKS[-1], num + 1))
        logs += _DRIFT * rng.standard_normal((LOOKS[-1], 1)).cumsum(axis=0)
        logs[:, 0] += gain
        found.append(stage(logs, gain))
    return tuple(fmean(column) for column in zip(*found, strict=True))


def main() -> None:
    """Print a table: a row a spread and a number of finalists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    print("| spread | finalists | wrong | faster, of equals | found | rounds | width |")
    print("| --- " * 7 + "|")
    for spread in (0.01, 0.03, 0.1):
        for num in (1, 2, 3):
            wrong, claimed, *_ = stages(repeats, spread, num, 0.0)
            _, found, rounds, width = stages(repeats, spread, num, math.log(1.05))
            shares = " | ".join(f"{100 * share:.1f} %" for share in (wrong, claimed, found))
            print(f"| {100 * spread:g} % | {num} | {shares} | {rounds:.1f} | {width:.2f} |")


if __name__ == "__main__":
    main()
