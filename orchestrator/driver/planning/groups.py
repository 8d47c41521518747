"""Groups of a plan's trials: what of it is left is counted in each, at least none."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.trial import Stage, Trial


class Group(NamedTuple):
    """Trials that stand for each other in a plan: any of them is one row less that is left.

    Attributes:
        stage: Their stage.
        tests: True for those that look at the test split.
    """

    stage: Stage
    tests: bool = False

    @classmethod
    def of(cls, trial: Trial) -> Group:
        """Return the group of a trial."""
        return cls(trial.stage, trial.evaluate_test)

    @property
    def is_of_search(self) -> bool:
        """Return True unless they are of the confirm stage."""
        return self.stage is not Stage.CONFIRM
