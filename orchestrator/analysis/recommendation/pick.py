"""The config that a rule of another kind than ``fastest_within`` takes: a function of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.recommendation.cost import order_by_cost
from orchestrator.analysis.rule import EXACT, Rule, best_of, column_of
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.errors import SweepError
from orchestrator.field_types import shown
from orchestrator.rules import RuleKind
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.texts import described

Floats = npt.NDArray[np.float64]


def pick(configs: pd.DataFrame, rule: Rule, sweep: SweepRecord) -> int:
    """Return the position of the config that a knee, weights or a function take.

    Args:
        configs: The configs that hold the bounds and have every objective, at least one, with the
            columns of :func:`~orchestrator.analysis.statistics.by_config.by_config`.
        rule: The rule.
        sweep: What a config costs is told by its baseline.

    Raises:
        SweepError: The function raised, or returned something else than a row of the table.
    """
    if rule.how.kind is RuleKind.FUNCTION:
        assert rule.how.function is not None
        label = _picked_by(rule.how.function, rule.how.name, configs)
        return list(configs.index).index(label)
    front = configs[pareto_front(configs, rule.directions)]
    score = knee_scores if rule.how.kind is RuleKind.KNEE else weighted_scores
    scores = score(front, rule)
    highest = front[scores >= scores.max() - EXACT]
    by_first = highest.sort_values(rule.speed_column, ascending=rule.speed.sign < 0, kind="stable")
    best = by_first[by_first[rule.speed_column] == by_first[rule.speed_column].iloc[0]]
    return list(configs.index).index(best.index[order_by_cost(best, rule, sweep)[0]])


def knee_scores(front: pd.DataFrame, rule: Rule) -> Floats:
    """Return how far each config of the front lies beyond the line between the front's ends.

    Each objective is scaled to [0, 1] over the front, 1 being its best: with two of them the ends
    are (1, 0) and (0, 1), and the distance to their line is the sum less 1, over the root of 2.
    With three it is the distance to the plane through (1, 0, 0), (0, 1, 0) and (0, 0, 1). See
    :func:`orchestrator.rules.knee` for the source.
    """
    scaled = []
    for objective in rule.directions:
        values = objective.sign * front[column_of(objective)].to_numpy(dtype=np.float64)
        spread = values.max() - values.min()
        scaled.append((values - values.min()) / spread if spread > 0 else np.zeros(len(values)))
    return np.asarray((np.sum(scaled, axis=0) - 1.0) / np.sqrt(len(scaled)))


def weighted_scores(configs: pd.DataFrame, rule: Rule) -> Floats:
    """Return the weighted sum of each config's figures, 0 for one that is the best in all.

    Each counts by how far it is short of the best of the configs, as a share of that best; of the
    largest absolute figure where the best is 0.
    """
    total = np.zeros(len(configs))
    for objective in rule.directions:
        figures = configs[column_of(objective)]
        best = best_of(objective, figures)
        scale = abs(best) or float(figures.abs().max()) or 1.0
        short = objective.sign * (figures.to_numpy(dtype=np.float64) - best) / scale
        total += rule.how.weights.get(objective.metric, 0.0) * short
    return total


def _picked_by(function: Callable[[Any], Any], name: str, configs: pd.DataFrame) -> Any:  # noqa: ANN401 - a label
    """Return what a function of one's own picks."""
    try:
        picked = function(configs.copy())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        message = f"the sweep's rule {name} raised {described(error)}"
        raise SweepError(message) from error
    label = picked.name if isinstance(picked, pd.Series) else picked
    if isinstance(picked, Mapping):
        label = next((i for i, row in configs.iterrows() if row.to_dict() == dict(picked)), None)
    try:
        is_label = bool(label in configs.index)
    except Exception:  # noqa: BLE001 - not hashable, or its class cannot be compared
        is_label = False
    if not is_label:
        raise SweepError(
            f"the sweep's rule {name} returned {shown(picked)}, which is no row of the table",
            "allowed: the index of a row, as configs['metrics.val_acc'].idxmax(), or the row",
        )
    return label
