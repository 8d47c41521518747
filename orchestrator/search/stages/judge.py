"""The judge: questions that the stages ask of the analysis; and when the confirm stage may end.

The interim analyses of the confirm stage are fixed beforehand and share the 5 % that intervals may
be wrong in, so that all intervals together have 95 % confidence, whichever the stage ends at.
(Repeated confidence intervals with Bonferroni's bound: Jennison and Turnbull, "Interim analyses:
the repeated confidence interval approach", Journal of the Royal Statistical Society B 51, 1989.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.kernel.search import Search
from orchestrator.trial import Trial, TrialResult

Config = Mapping[str, Any]

Results = Sequence[tuple[Trial, TrialResult]]
"""Trials with their results, in the order in which they ended."""


class Judge:
    """Decides from results so far. The same results always give the same answer.

    This one names no config: what a judge does not decide has a default.
    """

    def follow(self, search: Search) -> None:
        """Take the knobs' roles from ``search`` from here on, as far as it has checked them."""

    def finalists(self, results: Results, *, most: int) -> Sequence[Config]:
        """Return the config to confirm, then its contenders; empty where none will do."""
        return ()

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Config]:
        """Return the configs of which one more run would help to tell the best."""
        return ()

    def is_decided(self, results: Results) -> bool:
        """Return True if the confirm runs need not be extended.

        They tell by what factor the selected config is faster or slower than the baseline, or that
        the two are equally fast.
        """
        return True

    def recommended(self, results: Results) -> Config | None:
        """Return the config that all results recommend, confirm runs included, or None."""
        return None

    def interference(self, results: Results) -> str:
        """Return the effect of background trials on speed, a sentence; empty if none is shown."""
        return ""


# -- interim analyses

LEVEL: Final = 0.05
"""Probability of a wrong interval, over all interim analyses together."""

LAST_SHARE: Final = 0.4
"""Share of the level at the last analysis: most of the close cases are decided there."""

GROWTH: Final = 1.6
"""Ratio of the runs at an analysis to those at the one before: 3, 5, 8, 13."""


@dataclass(frozen=True, kw_only=True)
class InterimAnalyses:
    """Analyses of a comparison that is extended until it decides.

    Attributes:
        first: Pairs of runs at the first analysis.
        last: Pairs at the last one; ``first`` where that is more.
    """

    first: int
    last: int

    @property
    def at(self) -> tuple[int, ...]:
        """Pairs of runs at each analysis, ascending."""
        before_last, num = [], self.first
        while num < self.last:
            before_last.append(num)
            num = max(num + 1, round(GROWTH * num))
        return (*before_last, max(self.first, self.last))

    def level(self, num_pairs: int) -> float:
        """Return the probability of a wrong interval over so many pairs.

        It is the share of the next analysis: a stage that was broken off has its analysis there
        instead of later. More pairs than planned count as the last analysis.
        """
        pairs = self.at
        if len(pairs) == 1:
            return LEVEL
        if num_pairs > pairs[-2]:
            return LEVEL * LAST_SHARE
        return LEVEL * (1 - LAST_SHARE) / (len(pairs) - 1)
