"""The rule that a config is recommended by, as a sweep states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.wording import percent, shown_difference
from orchestrator.errors import SweepError
from orchestrator.metrics import Goal, Objective
from orchestrator.storage.sweep_record import SweepRecord

TIE_MARGIN: Final = 0.02
"""Two configs whose speeds differ by less are equally fast for any practical purpose.

A sweep may set its own as ``tie_margin``.
"""

MAJORITY_SHARE: Final = "metrics.val_majority_share"
"""Column of the accuracy that naming the most frequent class for all would have."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The fastest config whose accuracy is close enough to the best.

    Attributes:
        speed: First objective of the sweep.
        accuracy: Second objective of the sweep; measured on validation data.
        tolerance: How far below the best the accuracy may lie, in its own unit.
        tie_margin: Of configs that are as fast within it, the cheapest is taken.
    """

    speed: Objective
    accuracy: Objective
    tolerance: float
    tie_margin: float = TIE_MARGIN

    @property
    def speed_column(self) -> str:
        """Column of the speed."""
        return f"metrics.{self.speed.metric}"

    @property
    def accuracy_column(self) -> str:
        """Column of the accuracy that decides."""
        return f"metrics.{self.accuracy.metric}"

    @property
    def test_column(self) -> str:
        """Column of the accuracy that is reported once and never decides."""
        return "metrics.test_" + self.accuracy.metric.removeprefix("val_")

    @property
    def text(self) -> str:
        """The rule in words."""
        fastest = "fastest" if self.speed.goal is Goal.MAXIMIZE else "least costly"
        return (
            f"the {fastest} config by {self.speed.metric} whose {self.accuracy.metric} is within "
            f"{shown_difference(self.accuracy.metric, self.tolerance)} of the best; of those as "
            f"fast within {percent(self.tie_margin)}, the cheapest"
        )

    def ratios(self, speeds: pd.Series[Any], reference: pd.Series[Any] | float) -> pd.Series[Any]:
        """Return each of ``speeds`` as a multiple of ``reference``, larger being faster."""
        return speeds / reference if self.speed.goal is Goal.MAXIMIZE else reference / speeds

    def best_accuracy(self, accuracy: pd.Series[Any]) -> float:
        """Return the best of some accuracies."""
        return self.accuracy.sign * float((self.accuracy.sign * accuracy).max())

    def least_accuracy(self, accuracy: pd.Series[Any]) -> float:
        """Return the least that is close enough to the best of some accuracies."""
        return self.best_accuracy(accuracy) - self.accuracy.sign * self.tolerance

    def is_accurate(self, accuracy: pd.Series[Any]) -> pd.Series[bool]:
        """Return True for accuracies that are close enough to the best of them."""
        # Accuracies are ratios of counts: a config exactly on the limit is within it.
        return self.accuracy.sign * (accuracy - self.least_accuracy(accuracy)) >= -1e-9


def with_objectives(trials: pd.DataFrame, objectives: Sequence[Objective]) -> pd.DataFrame:
    """Return the table with a column for every objective: empty for one without a report."""
    columns = [f"metrics.{objective.metric}" for objective in objectives]
    missing = [column for column in columns if column not in trials.columns]
    return trials.assign(**dict.fromkeys(missing, np.nan)) if missing else trials


def unreported(rows: pd.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """Return the objectives that none of the rows has."""
    known = with_objectives(rows, objectives)
    metrics = [objective.metric for objective in objectives]
    return [metric for metric in metrics if known[f"metrics.{metric}"].isna().all()]


def rule_of(sweep: SweepRecord) -> Rule:
    """Return the rule that a sweep states.

    Raises:
        SweepError: It has fewer than two objectives, or one on test data.
    """
    objectives = sweep.objectives
    if len(objectives) < 2:
        raise SweepError(
            "the sweep has fewer than two objectives", "a recommendation weighs two: speed first"
        )
    on_test = [o.metric for o in objectives if o.metric.startswith("test_")]
    if on_test:
        raise SweepError(
            f"the sweep's objective {on_test[0]} would select on test data",
            "use validation accuracy; test is reported once, for what was selected",
        )
    speed, accuracy = objectives[:2]
    return Rule(
        speed=speed,
        accuracy=accuracy,
        tolerance=float(sweep.accuracy_tolerance),
        tie_margin=float(sweep.tie_margin),
    )
