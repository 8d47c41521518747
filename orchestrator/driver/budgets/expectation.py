"""Durations and cores of a sweep's trials as expected beforehand, for its budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.driver.budgets.budgets import Amount, Budgets
from orchestrator.trial import Budget

MARGIN: Final = 1.1
"""Part kept back for the confirm stage over what is expected of it: runs differ in length."""

LEAST_CONFIGS: Final = 2
"""Configs that a search must have room for, or nothing is kept back: a baseline and another one."""

Config = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ConfirmStage:
    """The confirm stage up to its first interim analysis, as budgets count it.

    Attributes:
        rounds: Runs of each config; 0: no such stage.
        share: Time of a run that is compared, as a share of a whole training's.
        finalists: Most configs in it besides the baseline.
    """

    rounds: int = 0
    share: float = 1.0
    finalists: int = 1

    def kept_back(
        self, budgets: Budgets, *, baseline: Amount, typical: Amount, least: Amount
    ) -> Amount:
        """Return what budgets keep back for the stage; nothing where no search would be left.

        Room for all finalists where there is enough, else for the selected config alone.

        Args:
            budgets: The budgets.
            baseline: What a whole training of the baseline takes.
            typical: What one of another config takes.
            least: What a search takes at least.
        """
        if not self.rounds:
            return Amount()
        for finalists, margin in ((self.finalists, MARGIN), (min(1, self.finalists), 1.0)):
            compared = (baseline + typical.times(finalists)).times(self.rounds * self.share)
            kept = (compared + typical).times(margin)  # the last one is the test run
            if not budgets.exceeded_by(kept + least):
                return kept
        return Amount()


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Durations and cores of a sweep's trials as expected before any has run.

    Attributes:
        num_cores: Cores of each.
        num_gpus: Returns the GPUs of a config.
        budget: Budget of a whole training.
        trial_s: Seconds that one holds its cores for, or None where that is not known.
        baseline: The baseline's config.
        confirm: The confirm stage.
        num_configs: Configs that the search would train, or None.
    """

    num_cores: int
    budget: Budget
    baseline: Config
    num_gpus: Callable[[Config], int] = lambda config: 0
    trial_s: float | None = None
    confirm: ConfirmStage = ConfirmStage()
    num_configs: int | None = None
