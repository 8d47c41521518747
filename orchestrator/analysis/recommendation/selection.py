"""The config that the searching runs select, and those to repeat; light, for the driver."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import Config, config_of, configs_of, rows_of
from orchestrator.analysis.recommendation.starts import BreakEven, split_by_pay
from orchestrator.analysis.rule import Rule, best_of, column_of, order_by_cost
from orchestrator.analysis.statistics.against_best import (
    Verdict,
    against_best,
    presumably_apart,
    resolvable,
    speed_numbers,
)
from orchestrator.analysis.statistics.intervals import Floats
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.derived import EXACT
from orchestrator.errors import SweepError
from orchestrator.field_types import shown
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.search.stages.judge import MAX_CONTENDERS
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.texts import described
from orchestrator.trial import TrialState


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The choice of the searching runs.

    Attributes:
        config: A value for every knob in plain Python, or None where there is no candidate.
        row: The config's row in
        :func:`~orchestrator.analysis.statistics.against_best.against_best`.
        tied: Configs as fast by their figures within the rule's margin and not shown to be
            slower, none of them cheaper; the fastest first.
        unresolved: Configs that are slower by more than the margin, with intervals that reach
            into it: more repeats could decide; the fastest first.
        num_configs: Configs that were weighed.
        num_accurate: Configs among them that meet the rule's conditions.
        best: The best figure among them of each objective, by metric.
        state: How the runs ended that were weighed.
        unpaid: The fastest config that is left out since its start does not pay; or None.
        refusal: Why none of the candidates was selected; empty where one was.
    """

    config: Config | None = None
    row: Mapping[Any, Any] | None = None
    tied: tuple[Config, ...] = ()
    unresolved: tuple[Config, ...] = ()
    num_configs: int = 0
    num_accurate: int = 0
    best: Mapping[str, float] = field(default_factory=dict)
    state: TrialState = TrialState.COMPLETED
    unpaid: BreakEven | None = None
    refusal: str = ""

    @property
    def contenders(self) -> tuple[Config, ...]:
        """Configs that may be as good, the fastest first; none for rules but ``fastest_within``."""
        return (*self.tied, *self.unresolved)


def select(tables: RunTables) -> Selection:
    """Select a config from the runs of stage ``train``, by validation data alone."""
    rule = tables.rule
    configs, state = _candidates(tables)
    acceptable = configs[configs["verdict"] != ""] if len(configs) else configs
    weighed = Selection(
        num_configs=len(configs),
        num_accurate=len(acceptable),
        best={o.metric: best_of(o, configs[column_of(o)]) for o in rule.objectives if len(configs)},
        state=state,
    )
    if acceptable.empty:
        return weighed
    if rule.how.kind is RuleKind.FASTEST_WITHIN:
        acceptable, unpaid = split_by_pay(acceptable, tables)
        return _fastest_within(acceptable, replace(weighed, unpaid=unpaid), tables)
    return _by_another_rule(acceptable, weighed, tables)


def _fastest_within(acceptable: pd.DataFrame, weighed: Selection, tables: RunTables) -> Selection:
    """Return the cheapest of the fastest configs that meet the conditions."""
    rule, sweep = tables.rule, tables.sweep
    others = rule.directions[1:]  # composed configs of a setting have one speed
    columns = ["ratio_to_best", *map(column_of, others)]
    ascending = [False, *(each.sign < 0 for each in others)]
    by_speed = acceptable.sort_values(columns, ascending=ascending, kind="stable")
    is_close = by_speed["ratio_to_best"] >= 1 - rule.tie_margin
    tied = by_speed[is_close & (by_speed["verdict"] != Verdict.WORSE)]
    cheapest = tied.iloc[order_by_cost(tied, sweep)]
    choice = cheapest.iloc[0].to_dict()
    as_fast = _of_other_speed(cheapest, rule).index[1:]
    unresolved = _of_other_speed(_unresolved(by_speed[~is_close], by_speed.iloc[0], rule), rule)
    return replace(
        weighed,
        config=config_of(choice, sweep),
        row=choice,
        tied=tuple(configs_of(by_speed[by_speed.index.isin(as_fast)], sweep)),
        unresolved=tuple(configs_of(unresolved, sweep)),
    )


def _of_other_speed(configs: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Return the first config of each speed: more runs cannot separate those of one setting."""
    return configs[~speed_numbers(configs, rule.speed_column).duplicated()]


def _by_another_rule(acceptable: pd.DataFrame, weighed: Selection, tables: RunTables) -> Selection:
    """Return what a knee, weights or a function take; a function's choice may have been stored."""
    rule, sweep, chosen = tables.rule, tables.sweep, tables.chosen
    if rule.how.kind is RuleKind.FUNCTION and rule.how.function is None:
        rows = acceptable if chosen is None else acceptable[rows_of(acceptable, chosen)]
        if chosen is None or rows.empty:
            name = rule.how.name
            refusal = f"the sweep's function {name} chooses, and its choice is not stored here"
            return replace(weighed, refusal=refusal)
        row = rows.iloc[0].to_dict()
    else:
        try:
            row = acceptable.iloc[pick(acceptable, rule, sweep)].to_dict()
        except SweepError as error:  # a function of the sweep file
            return replace(weighed, refusal=" ".join(f"{error.message}; {error.hint}".split()))
    return replace(weighed, config=config_of(row, sweep), row=row)


def pick(configs: pd.DataFrame, rule: Rule, sweep: SweepRecord) -> int:
    """Return the position of the config that a knee, weights or a function take.

    Args:
        configs: Configs that meet the bounds and have every objective, at least one.
        rule: The rule.
        sweep: Of its baseline, for the costs.

    Raises:
        SweepError: The function raised, or returned something else than a row of the table.
    """
    if rule.how.kind is RuleKind.FUNCTION:
        return list(configs.index).index(_picked_by(rule.how, configs))
    front = configs[pareto_front(configs, rule.directions)]
    score = knee_scores if rule.how.kind is RuleKind.KNEE else weighted_scores
    scores = score(front, rule)
    highest = front[scores >= scores.max() - EXACT]
    by_first = highest.sort_values(rule.speed_column, ascending=rule.speed.sign < 0, kind="stable")
    best = by_first[by_first[rule.speed_column] == by_first[rule.speed_column].iloc[0]]
    return list(configs.index).index(best.index[order_by_cost(best, sweep)[0]])


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

    Each counts by how far it is short of the best, as a share of that best; of the largest absolute
    figure where the best is 0.
    """
    total = np.zeros(len(configs))
    for objective in rule.directions:
        figures = configs[column_of(objective)]
        best = best_of(objective, figures)
        scale = abs(best) or float(figures.abs().max()) or 1.0
        short = objective.sign * (figures.to_numpy(dtype=np.float64) - best) / scale
        total += rule.how.weights.get(objective.metric, 0.0) * short
    return total


def _picked_by(how: SelectionRule, configs: pd.DataFrame) -> Any:  # noqa: ANN401 - a label
    """Return the label of the row that a function of the sweep file picks."""
    assert how.function is not None
    try:
        picked = how.function(configs.copy())
    except Exception as error:
        raise SweepError(f"the sweep's rule {how.name} raised {described(error)}") from error
    label = picked.name if isinstance(picked, pd.Series) else picked
    if label not in list(configs.index):
        raise SweepError(
            f"the sweep's rule {how.name} returned {shown(picked)}, which is no row of the table",
            "allowed: the index of a row, as configs['metrics.val_acc'].idxmax(), or the row",
        )
    return label


def _candidates(tables: RunTables) -> tuple[pd.DataFrame, TrialState]:
    """Return the configs that trained their whole budget, else those that were stopped.

    They are of the main group, and compared with its best.
    """
    rule = tables.rule
    needed = [column_of(objective) for objective in rule.objectives]
    for state in (TrialState.COMPLETED, TrialState.STOPPED):
        configs = tables.searched_configs(state).dropna(subset=needed)
        if not configs.empty:
            return against_best(configs, rule), state
    return configs, TrialState.COMPLETED


def _unresolved(slower: pd.DataFrame, best: "pd.Series[Any]", rule: Rule) -> pd.DataFrame:
    """Return the configs outside the margin that may yet lie within it.

    If nothing was repeated, their own intervals decide.
    """
    is_known = slower["variance"].notna()
    better_end = slower[f"{rule.speed_column}_{'high' if rule.speed.sign > 0 else 'low'}"]
    reaches = rule.ratios(better_end, float(best[rule.speed_column])) >= 1 - rule.tie_margin
    return slower[(slower["verdict"] == Verdict.UNRESOLVED).where(is_known, reaches)]


def to_repeat(tables: RunTables, *, max_runs: int) -> tuple[Config, ...]:
    """Return the best config and the nearest that it is not separated from; () for none.

    By the searching runs alone. If nothing was repeated, configs within the presumed noise are
    repeated, so that the noise becomes known. A config that would take more than ``max_runs`` is
    left out: it is so near that nothing depends on it. None by rules other than ``fastest_within``.

    Args:
        tables: The run so far.
        max_runs: Runs that a config has at most.
    """
    if tables.rule.how.kind is not RuleKind.FASTEST_WITHIN:
        return ()
    configs = against_best(tables.searched_configs(), tables.rule)
    ranked = configs[configs["verdict"] != ""]
    is_open = ranked["verdict"] == Verdict.UNRESOLVED
    if ranked["variance"].notna().any():
        is_open &= resolvable(ranked, tables.rule, max_runs=max_runs)
    else:
        is_open &= ~presumably_apart(ranked["ratio_to_best"])
    contenders = ranked[is_open].sort_values("ratio_to_best", ascending=False, kind="stable")
    named = pd.concat([ranked[ranked["verdict"] == Verdict.BEST], contenders.head(MAX_CONTENDERS)])
    if len(named) < 2:
        return ()
    return tuple(configs_of(named[named["num_runs"] < max_runs], tables.sweep))
