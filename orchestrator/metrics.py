"""Objectives, figures of studies, and which metrics are accuracies or were learned."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from orchestrator.errors import SweepFileError, refuse
from orchestrator.field_types import wrong_fields
from orchestrator.locations import caller
from orchestrator.metric_table import METRICS, OF_BATCHES


class Goal(StrEnum):
    """Direction in which a metric gets better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


_ALLOWED: Final = {
    "metric": 'the name of a metric: maximize("val_acc")',
    "goal": "Goal.MAXIMIZE or Goal.MINIMIZE, which maximize(...) and minimize(...) set",
}


@dataclass(frozen=True)
class Objective:
    """Metric with the direction in which it is to be improved, or with a bound.

    Attributes:
        metric: Its name.
        goal: Its direction.
        tolerance: Difference from the best that is given away for another objective. None: the
            sweep's own for accuracies, its ``tie_margin`` for others.
        relative: True where ``tolerance`` is a fraction of the best, not in the metric's unit.
        bound: Value that a config must reach. What is better than it does not count as better.
    """

    metric: str
    goal: Goal
    tolerance: float | None = None
    relative: bool = False
    bound: float | None = None

    def __post_init__(self) -> None:
        if type(self.goal) is str and self.goal in list(Goal):
            object.__setattr__(self, "goal", Goal(self.goal))
        refuse(
            [
                SweepFileError(
                    f"{caller(each.field)}Objective: {each} is not allowed",
                    f"allowed: {_ALLOWED.get(each.field, each.allowed)}",
                )
                for each in wrong_fields(self)
            ]
        )

    @property
    def sign(self) -> float:
        """+1 where larger is better, -1 where smaller is."""
        return 1.0 if self.goal is Goal.MAXIMIZE else -1.0

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Return True unless the metric is known and violates the bound."""
        if self.bound is None or self.metric not in metrics:
            return True
        return self.sign * (metrics[self.metric] - self.bound) >= 0


MAX_OBJECTIVES: Final = 3
"""Objectives of a sweep, at most."""


def maximize(metric: str, *, tolerance: float | None = None, relative: bool = False) -> Objective:
    """Return an objective that is better the larger ``metric`` is; see :class:`Objective`."""
    return Objective(metric, Goal.MAXIMIZE, tolerance, relative)


def minimize(metric: str, *, tolerance: float | None = None, relative: bool = False) -> Objective:
    """Return an objective that is better the smaller ``metric`` is; see :class:`Objective`."""
    return Objective(metric, Goal.MINIMIZE, tolerance, relative)


def at_least(metric: str, bound: float) -> Objective:
    """Return the objective that ``metric`` is ``bound`` or more: a condition, not a goal."""
    return Objective(metric, Goal.MAXIMIZE, bound=bound)


def at_most(metric: str, bound: float) -> Objective:
    """Return the objective that ``metric`` is ``bound`` or less: a condition, not a goal."""
    return Objective(metric, Goal.MINIMIZE, bound=bound)


@dataclass(frozen=True, kw_only=True)
class Published:
    """Published figures of a study, shown with ours.

    Attributes:
        source: The study, and its hardware.
        knobs: The knob values that a row of ``figures`` is about.
        figures: Metric name to value, measured the way ours is.
        note: What differs in how it was measured.
        data: Name of the data set that the figures are of; a run on another one does not show
            them. Default: the sweep's ``data``.
    """

    source: str
    knobs: Mapping[str, Any]
    figures: Mapping[str, float]
    note: str = ""
    data: str = ""


FIRST_LOSS: Final = "first_loss"
"""Loss of the first step: learned, and reported by a trial of speed alone, too."""

_ACCURACY: Final = re.compile(r"(^|_)(acc|accuracy|auc)$")

_SMALLER: Final = ("_s", "_ms", "_us", "_ns", "_gib", "_mib", "_j", "loss", "cost", "error")
"""Endings of figures for which smaller is better: times, memory, energy, losses."""

_LEARNED: Final = re.compile(
    r"(^|_)(acc|accuracy|auc|auroc|loss|nll|perplexity|ppl|err|error|mse|rmse|mae|r2|f1|precision"
    r"|recall|iou|dice|bleu|rouge|mrr|ndcg|hits|score|reward|majority_share|classes_predicted"
    r"|epochs|steps)(_|$)"
)
"""Words in the names of what a trainable reports of its learning."""

_OF_THE_LOAD: Final = re.compile(r"_(s|ms|us|ns)$|_(per|gib|mib)(_|$)|(^|_)time(_|$)")
"""Endings that make a time, a rate or memory of any name: ``time_to_accuracy``, ``loss_ms``."""


def batches_hint(missing: Sequence[str]) -> str:
    """Return a clause on how to measure those of :data:`OF_BATCHES`; "" without any."""
    names = " and ".join(name for name in missing if name in OF_BATCHES)
    return f"; run.batches measures {names}, which objectives=[...] may leave out" if names else ""


def is_accuracy(name: str) -> bool:
    """Return True for a share of right answers, a fraction of 1: ``val_acc``, ``accuracy``."""
    return bool(_ACCURACY.search(name))


def usual_goal(name: str) -> Goal | None:
    """Return the direction of a rate, an accuracy, a time or a loss; None for another figure."""
    if is_accuracy(name) or name.endswith("_per_s") or name == "goodput":
        return Goal.MAXIMIZE
    return Goal.MINIMIZE if name.endswith(_SMALLER) else None


def is_learned(name: str) -> bool:
    """Return True for a metric of what was learned: an accuracy, a loss, a count of steps.

    Other load on the machine does not change it. A metric that the registry does not have is
    judged by the words in its name. Without any of them it counts as a rate, such as ``kteps``:
    that only leaves contaminated runs out.
    """
    if name in METRICS:
        return METRICS[name].learned
    return bool(_LEARNED.search(name)) and not _OF_THE_LOAD.search(name)
