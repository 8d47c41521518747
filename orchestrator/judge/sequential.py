"""A test of pairs of runs that looks after every pair, and ends as soon as it can.

The logarithms of the pairs' ratios are taken as normal, their spread as unknown. After each pair
from the fifth to the last, Student's interval of their mean is formed twice: at 99.8 %, which shows
a change where it excludes none; and at 94 %, which shows that there is none where it lies within
``within`` on both sides (two one-sided tests: Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
The levels were chosen by drawing equals: over all looks a change is seen in at most 1 % of them,
whatever the spread (``python -m benchmarks.judge``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST: Final = 5
MOST: Final = 16
"""Pairs at which it looks for the first and for the last time."""
_CHANGE: Final = 0.002
_SAME: Final = 0.03
EXIT_NOT_BETTER: Final = 3
USUAL_SPREAD: Final = 0.02
"""Standard deviation of a pair's ratio, interleaved on an idle machine."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on a figure.

    Attributes:
        verdict: ``faster``, ``slower``, ``same`` or ``not decided``.
        ratio: The new one's figure over the old one's, the geometric mean of the pairs; above 1
            where the new one is better.
        low: Lower end of its 95 % interval, over these pairs alone.
        high: Upper end.
        pairs: Number of pairs.
    """

    verdict: str
    ratio: float
    low: float
    high: float
    pairs: int


def judged(logs: Sequence[float], within: float, most: int = MOST) -> Verdict | None:
    """Return the verdict on the pairs so far; None where another pair may decide.

    Args:
        logs: Logarithm of each pair's ratio, above 0 where the new one is better.
        within: Change of the ratio that counts as none, a fraction of 1.
        most: Pairs after which it is not decided.
    """
    if len(logs) < min(LEAST, most):
        return None
    import numpy as np
    from scipy.special import stdtrit

    number, mean = len(logs), float(np.mean(logs))
    error = float(np.std(logs, ddof=1)) / math.sqrt(number)

    def half(level: float) -> float:
        return float(stdtrit(number - 1, 1 - level)) * error

    if abs(mean) > half(_CHANGE / 2):
        word = "faster" if mean > 0 else "slower"
    elif abs(mean) + half(_SAME) < math.log1p(within):
        word = "same"
    elif number >= most:
        word = "not decided"
    else:
        return None
    ratio, low, high = (math.exp(mean + sign * half(0.025)) for sign in (0, -1, 1))
    return Verdict(verdict=word, ratio=ratio, low=low, high=high, pairs=number)


def expected_pairs(within: float) -> int:
    """Return how many pairs a fixed test of 1 % needs to see a change in 90 of 100 cases."""
    from scipy.special import ndtri

    levels = float(ndtri(0.995) + ndtri(0.9))
    return math.ceil((levels * USUAL_SPREAD / math.log1p(within)) ** 2)
