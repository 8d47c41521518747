"""When the confirm stage may end, and how much each look at it costs in confidence.

Whoever looks at a comparison again and again until it shows something will find something.
So the looks are fixed beforehand and share out the 5 % that intervals may be wrong in: the
interval at a look is wider than one that stands alone, and all of them together hold with 95 %
confidence, whichever the stage ends at. These are the repeated confidence intervals of Jennison
and Turnbull ("Interim analyses: the repeated confidence interval approach", Journal of the Royal
Statistical Society B 51, 1989), with the simplest of bounds (Bonferroni's), which holds for the t
distribution as it does for the normal one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEVEL: Final = 0.05
"""How often an interval may be wrong, over all looks together."""

LAST_SHARE: Final = 0.4
"""What the last look gets of it: most of the close cases are decided there."""

GROWTH: Final = 1.6
"""Runs at a look over those at the look before: 3, 5, 8, 13."""


@dataclass(frozen=True, kw_only=True)
class InterimAnalyses:
    """The looks at a comparison that is extended until it decides.

    Attributes:
        first: Pairs of runs at the first look.
        last: Pairs at the last one, ``first`` at least.
    """

    first: int
    last: int

    @property
    def at(self) -> tuple[int, ...]:
        """Pairs at each look, ascending."""
        found, num = [], self.first
        while num < self.last:
            found.append(num)
            num = max(num + 1, round(GROWTH * num))
        return (*found, max(self.first, self.last))

    def level(self, num_pairs: int) -> float:
        """How often the interval over so many pairs may be wrong: the next look's share.

        A stage that was broken off has its last look there instead of later; more pairs
        than were meant count as the last look.
        """
        looks = self.at
        if len(looks) == 1:
            return LEVEL
        if num_pairs > looks[-2]:
            return LEVEL * LAST_SHARE
        return LEVEL * (1 - LAST_SHARE) / (len(looks) - 1)
