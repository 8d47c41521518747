"""The judge, which answers the stages' questions from the analysis."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.kernel.search import Search
from orchestrator.trial import Trial, TrialResult

Config = Mapping[str, Any]

Results = Sequence[tuple[Trial, TrialResult]]
"""Trials with their results, in the order in which they ended."""

MAX_CONTENDERS: Final = 3
"""Configs repeated together with the best one: the nearest of its near-ties."""


class Judge:
    """Decides from results so far. The same results always give the same answer.

    By default it names no config.
    """

    def follow(self, search: Search) -> None:
        """Take the knobs' roles from ``search`` from here on, as far as it has checked them."""

    def finalists(self, results: Results, *, most: int) -> Sequence[Config]:
        """Return the config to confirm, then its contenders; empty where none will do."""
        return ()

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Config]:
        """Return the configs that need one more run to find the best."""
        return ()

    def is_decided(self, results: Results) -> bool:
        """Return True if the confirm runs need not be extended.

        They show by what factor the selected config is faster or slower than the baseline, or that
        the two are equally fast.
        """
        return True

    def recommended(self, results: Results) -> Config | None:
        """Return the config that all results recommend, confirm runs included, or None."""
        return None

    def interference(self, results: Results) -> str:
        """Return the effect of background trials on speed, a sentence; empty if none is shown."""
        return ""
