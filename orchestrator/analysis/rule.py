"""The rule that a config is recommended by, as a sweep states it; figures to its target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import config_of, numbers_of, rows_of, text_of
from orchestrator.derived import CLOCK, EXACT, target_value
from orchestrator.metrics import Goal, Objective, is_learned, maximize
from orchestrator.rules import RuleKind, SelectionRule, cost_of
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage

TIME: Final = "metrics.time_to_accuracy_s"
GOODPUT: Final = "metrics.goodput"
SPEED: Final = "metrics.samples_per_s"

MAJORITY_SHARE: Final = "metrics.val_majority_share"
"""Column of the accuracy of a model that always predicts the most frequent class."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Objectives of a sweep, and how a config is chosen by them.

    Attributes:
        objectives: One, two or three, each with a tolerance or a bound; none is None. The first
            to improve comes first.
        how: The way of choosing.
        tie_margin: Configs within it are equally fast; the cheapest of them is taken.
        target: The target to which ``time_to_accuracy_s`` and ``goodput`` are counted.
    """

    objectives: tuple[Objective, ...]
    how: SelectionRule = field(default_factory=SelectionRule)
    tie_margin: float = 0.02
    target: Objective | None = None

    @property
    def speed(self) -> Objective:
        """The first objective to improve; in most sweeps a speed."""
        return self.directions[0]

    @property
    def directions(self) -> tuple[Objective, ...]:
        """The objectives to improve: those without a bound."""
        return tuple(o for o in self.objectives if o.bound is None)

    @property
    def conditions(self) -> tuple[Objective, ...]:
        """The conditions for comparison by the first objective, in order: bounds first.

        Rules other than ``fastest_within`` have no conditions but bounds.
        """
        bounds = tuple(o for o in self.objectives if o.bound is not None)
        near = self.directions[1:] if self.how.kind is RuleKind.FASTEST_WITHIN else ()
        return (*bounds, *near)

    @property
    def accuracy(self) -> Objective:
        """The objective that is shown for learning: the first learned one other than the speed.

        If there is none, the second objective; with a single objective, validation accuracy.
        """
        others = [o for o in self.objectives if o is not self.speed]
        learned = [o for o in others if is_learned(o.metric)]
        return next(iter([*learned, *others]), maximize("val_acc"))

    def objective_of(self, metric: str) -> Objective:
        """Return the objective of a figure; one to maximise if the rule has none."""
        known = {o.metric: o for o in (self.accuracy, *self.objectives)}
        return known.get(metric, maximize(metric))

    def margin_of(self, metric: str) -> float:
        """Return the largest negligible difference: a share of the speed, or in its own unit."""
        objective = self.objective_of(metric)
        if metric == self.speed.metric:
            return self.tie_margin
        return 0.0 if objective.relative else objective.tolerance or 0.0

    @property
    def others(self) -> tuple[Objective, ...]:
        """The objectives other than :attr:`speed` and :attr:`accuracy`."""
        shown = self.speed.metric, self.accuracy.metric
        return tuple(o for o in self.objectives if o.metric not in shown)

    @property
    def speed_column(self) -> str:
        """Column of the first objective."""
        return column_of(self.speed)

    @property
    def accuracy_column(self) -> str:
        """Column of :attr:`accuracy`."""
        return column_of(self.accuracy)

    @property
    def is_of_speed(self) -> bool:
        """True if the first objective is a rate or a time, so that "faster" is the word."""
        metric = self.speed.metric
        is_time = metric.endswith(("_s", "_ms", "_us", "time"))
        return is_time if self.speed.goal is Goal.MINIMIZE else not is_learned(metric)

    @property
    def fast(self) -> tuple[str, str, str]:
        """``fast, faster, fastest``; ``good, better, best`` of a figure that is no speed."""
        return ("fast", "faster", "fastest") if self.is_of_speed else ("good", "better", "best")

    def ratios(self, speeds: pd.Series[Any], reference: pd.Series[Any] | float) -> pd.Series[Any]:
        """Return each of ``speeds`` as a multiple of ``reference``, larger being faster.

        NaN unless both are above 0: neither -5 nor -10 is a multiple of the other.
        """
        ratios = speeds / reference if self.speed.goal is Goal.MAXIMIZE else reference / speeds
        return ratios.where((speeds > 0) & (reference > 0))

    def limits(self, configs: pd.DataFrame) -> dict[str, float]:
        """Return the worst acceptable figure of each condition, by metric, in their order.

        NaN if no config meets the conditions before it. The best figure of an objective is the best
        among the configs that meet the conditions before it.
        """
        return self._weighed(configs)[0]

    def acceptable(self, configs: pd.DataFrame) -> pd.Series[bool]:
        """Return True for the configs that meet every condition and have every objective."""
        return self._weighed(configs)[1]

    def _weighed(self, configs: pd.DataFrame) -> tuple[dict[str, float], pd.Series[bool]]:
        """Return the limit of each condition, and the configs that meet all of them."""
        meets = pd.Series(True, index=configs.index)
        for objective in self.objectives:
            meets &= numbers_of(configs, column_of(objective)).notna()
        limits = {}
        for objective in self.conditions:
            figures = numbers_of(configs, column_of(objective))
            limit = limits[objective.metric] = limit_of(objective, figures[meets])
            meets = meets & reaches(objective, figures, limit)
        return limits, meets


def column_of(objective: Objective) -> str:
    """Return the column of an objective's figures."""
    return f"metrics.{objective.metric}"


def best_of(objective: Objective, figures: pd.Series[Any]) -> float:
    """Return the best of some figures; NaN if there is none."""
    return objective.sign * float((objective.sign * figures).max())


def limit_of(objective: Objective, figures: pd.Series[Any]) -> float:
    """Return the worst figure that a condition allows: its bound, or what is near the best."""
    return target_value(objective, [best_of(objective, figures)])


def reaches(objective: Objective, figures: pd.Series[Any], limit: float) -> pd.Series[bool]:
    """Return True for the figures that are as good as a limit; False if one is not known."""
    slack = EXACT * max(1.0, abs(limit)) if math.isfinite(limit) else 0.0
    return objective.sign * (figures - limit) >= -slack


def with_objectives(trials: pd.DataFrame, objectives: Sequence[Objective]) -> pd.DataFrame:
    """Return the table with a column for every objective: empty for one without a report."""
    missing = [c for c in map(column_of, objectives) if c not in trials.columns]
    return trials.assign(**dict.fromkeys(missing, np.nan))


def rule_of(sweep: SweepRecord) -> Rule:
    """Return the rule that a sweep states."""
    objectives = [sweep.rigor.with_tolerance(each, sweep.rule) for each in sweep.objectives]
    speed = next(objective for objective in objectives if objective.bound is None)
    return Rule(
        objectives=tuple(sorted(objectives, key=lambda each: each is not speed)),
        how=sweep.rule,
        tie_margin=float(sweep.rigor.tie_margin),
        target=sweep.target and sweep.rigor.with_tolerance(sweep.target, sweep.rule),
    )


def order_by_cost(configs: pd.DataFrame, sweep: SweepRecord) -> list[int]:
    """Return the positions of the rows, the cheapest first; equals stay in their order."""
    costs = [cost_of_row(row, sweep) for row in configs.to_dict("records")]
    return sorted(range(len(costs)), key=costs.__getitem__)


def cost_of_row(row: Mapping[Any, Any], sweep: SweepRecord) -> tuple[float, ...]:
    """Return :func:`~orchestrator.rules.cost_of` the config of a table's row."""
    names = ("cores", "metrics.peak_gpu_gib", "metrics.peak_rss_gib")
    cells = {name.removeprefix("metrics."): row.get(name) for name in names}
    figures = {name: math.nan if pd.isna(cell) else float(cell) for name, cell in cells.items()}
    return cost_of(
        config_of(row, sweep),
        figures,
        device=text_of(row.get("device")),
        baseline={k: tuple(v) if isinstance(v, list) else v for k, v in sweep.baseline.items()},
        cores=0.0 if math.isnan(figures["cores"]) else figures["cores"],
    )


def with_derived(
    trials: pd.DataFrame, curves: pd.DataFrame, rule: Rule, baseline: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the trials with their figures to the rule's target, from the best of all curves.

    While a run continues, a search has them from the trials so far
    (:class:`orchestrator.derived.DerivedFigures`). A target near the best is taken from the curves
    of stage ``train``. Without curves or without a target the table is returned unchanged.

    Args:
        trials: One row a trial.
        curves: One row a report; those of a paused curve under its last trial.
        rule: The rule with the target.
        baseline: The config that ``goodput`` is relative to: the median samples of its runs to
            the target. If none of its runs reached it, those of the first trial that did.
    """
    target = rule.target
    if target is None or curves.empty or f"metrics.{target.metric}" not in curves.columns:
        return trials
    figures = curves[f"metrics.{target.metric}"]
    is_searched = trials["stage"] == Stage.TRAIN
    value = limit_of(target, figures[curves["trial_id"].isin(trials.loc[is_searched, "trial_id"])])
    there = curves[reaches(target, figures, value)].drop_duplicates("trial_id")
    there = there.set_index("trial_id").reindex(trials["trial_id"]).set_axis(trials.index)
    samples = there["samples"].astype("float64")
    known = samples[is_searched].dropna()
    own = known[rows_of(trials, baseline)[known.index]]
    reference = known.head(1).sum() if own.empty else own.median()
    goodput = numbers_of(trials, SPEED) * reference / samples
    return trials.assign(**{TIME: clock_of(there), GOODPUT: goodput})


def clock_of(reports: pd.DataFrame) -> pd.Series[float]:
    """Return the time of each report in training epochs, else since the trial's process began.

    So evaluating more often does not make a config slower.
    """
    since_start = reports["elapsed_s"].astype("float64")
    return numbers_of(reports, f"metrics.{CLOCK}").fillna(since_start)
