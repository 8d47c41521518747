"""What a search asks of those who understand the figures: it sees no statistics itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from orchestrator.trial import Trial, TrialResult

Config = Mapping[str, Any]

Results = Sequence[tuple[Trial, TrialResult]]
"""Trials with what became of them, in the order in which they ended."""


class Interference(Protocol):
    """What trials that run beside each other do to their speed."""

    @property
    def is_shown(self) -> bool:
        """Whether the difference is more than noise, and than the margin of a tie."""

    @property
    def text(self) -> str:
        """The difference in a sentence."""


class Judge(Protocol):
    """Decides from results so far. The same results always give the same answer."""

    def finalists(self, results: Results) -> Sequence[Config]:
        """The config to confirm, then others that may be as good; empty where none will do."""

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Config]:
        """Configs of which one more run would tell how they stand to the best."""

    def is_decided(self, results: Results) -> bool:
        """Whether the confirm runs need not be extended.

        They tell the selected config from the baseline, or that the two are as fast.
        """

    def recommended(self, results: Results) -> Config | None:
        """What is recommended by all the results, confirm runs included; None for nothing."""

    def interference(self, results: Results) -> Interference | None:
        """What trials beside each other do to their speed; None where that is not known."""
