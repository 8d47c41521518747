"""A run's tables, and the tables that every part of the analysis derives from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import (
    Config,
    configs_of,
    numbers_of,
    params_of,
    rows_of,
    varying_params_of,
)
from orchestrator.analysis.comparable import GROUP, main_group, with_groups
from orchestrator.analysis.composition.compose import COMPOSED, compose, rate_of, with_runs
from orchestrator.analysis.composition.parts import COMBINATION, with_keys
from orchestrator.analysis.rule import TIME, Rule, clock_of, rule_of, with_derived, with_objectives
from orchestrator.analysis.statistics import machine, pooling
from orchestrator.analysis.statistics.against_best import against_best
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.curves import CLOCK, whole_curves
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.formats import counted
from orchestrator.metrics import Objective, minimize
from orchestrator.space.configs import same_config
from orchestrator.space.knob import Role
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.storage.tables import CURVE_COLUMNS, STEP_DTYPES, roles_of
from orchestrator.trial import FINAL, LOAD, SEARCHING, Stage, TrialState

SPEED: Final = "samples_per_s"
_TRAIN_S: Final = "metrics.train_s"
OVER: Final = "tags.interval_over"
"""Column that states what a row's interval is over."""
MARKS: Final = (COMPOSED, LOAD)
"""Columns that are True for configs whose figure is less than one measured without other load."""
OF_LEARNED: Final = ("num_all_runs", COMPOSED)
"""Columns of the confirmed configs on the runs of what was learned."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunTables:
    """The tables of one run; everything derived from them is computed once, at its first use.

    Attributes:
        trials: One row a trial, as in ``trials.parquet``.
        curves: One row a report, as in ``curves.parquet``.
        steps: One row a block of steps, as in ``steps.parquet``.
        candidates: The configs of a factored search, as in ``candidates.parquet``; empty for
            another search, which has only configs that were trained.
        sweep: The sweep that was run.
        chosen: The config that a function of the sweep file chose when the run ended, if the
            function itself is not available.
        key: Key of the run, from its journal; empty if that is not available.
    """

    trials: pd.DataFrame
    curves: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(CURVE_COLUMNS)))
    steps: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(STEP_DTYPES)))
    candidates: pd.DataFrame = field(default_factory=pd.DataFrame)
    sweep: SweepRecord
    chosen: Mapping[str, Any] | None = None
    key: str = ""

    def __repr__(self) -> str:
        sweep = self.sweep
        what = f"{sweep.trainable} on {sweep.data}: " if sweep.trainable else ""
        counts = f"{counted(len(self.trials), 'trial')}, {counted(len(self.curves), 'report')}"
        return f"<RunTables of {sweep.name}: {what}{counts}>"

    @property
    def is_composed(self) -> bool:
        """True for a factored search: its configs are composed, trained or not."""
        return not self.candidates.empty

    @cached_property
    def roles(self) -> dict[str, Role]:
        """Role of each knob: as declared, or as determined by a factored search."""
        declared = {name: knob.role for name, knob in self.sweep.knobs.items()}
        return declared | roles_of(self.candidates)

    @cached_property
    def whole_curves(self) -> pd.DataFrame:
        """The reports; those of a paused and resumed curve belong to its last trial."""
        return whole_curves(self.curves, self.trials)

    @cached_property
    def rule(self) -> Rule:
        """The rule by which configs are recommended."""
        return rule_of(self.sweep)

    @cached_property
    def grouped(self) -> pd.DataFrame:
        """The trials with the ``group`` of comparable rows and a column for every objective."""
        shown = (*self.rule.objectives, self.rule.accuracy)
        trials = with_derived(self.trials, self.whole_curves, self.rule, self.sweep.baseline)
        return with_groups(with_objectives(trials, shown), self.sweep)

    @cached_property
    def main_group(self) -> str:
        """The group that a config is recommended from."""
        return main_group(self.grouped)

    @cached_property
    def searched(self) -> pd.DataFrame:
        """The rows of :attr:`grouped` that may select: all but the confirm stage's."""
        return self.grouped[self.grouped["stage"].isin(SEARCHING)]

    @cached_property
    def final_rows(self) -> pd.DataFrame:
        """The rows of :attr:`grouped` of the confirm stage, which support a claim."""
        return self.grouped[self.grouped["stage"] == FINAL]

    @cached_property
    def configs(self) -> pd.DataFrame:
        """The completed configs of stage ``train``, one row a config and group.

        For a factored search: every config with a known speed and accuracy, ``composed`` if it was
        not itself trained and probed. Intervals rest on the repeats of all stages.
        """
        return self._searched(self.grouped, TrialState.COMPLETED)

    @cached_property
    def finals(self) -> pd.DataFrame:
        """The completed configs of the confirm stage, one row a config and group."""
        rows = self.grouped if len(self.final_rows) else self.final_rows
        finals = by_config(rows, stage=FINAL, speed=self.rule.speed.metric)
        return finals.assign(**{COMPOSED: False})

    @cached_property
    def compared(self) -> list[Config]:
        """The configs that the rounds of the confirm stage compare, the baseline left out."""
        rows = self.final_rows[pooling.shared_a_round(self.final_rows)]
        configs = configs_of(rows.drop_duplicates(varying_params_of(rows)), self.sweep)
        return [each for each in configs if not same_config(each, self.sweep.baseline)]

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """The :attr:`configs` with their verdict against the best, and ``on_front``.

        Each group has its own best and its own front; the main group comes first.
        """
        configs = against_best(self.configs, self.rule)
        configs = configs.assign(on_front=pareto_front(configs, self.rule.objectives))
        main_first = (configs[GROUP] != self.main_group).argsort(kind="stable")
        return configs.iloc[main_first].reset_index(drop=True)

    @cached_property
    def pool(self) -> pooling.Pool | None:
        """The spread between fresh runs of one config of the main group; None if not known."""
        stage = Stage.PROBE if self.is_composed else Stage.TRAIN
        speed = rate_of(self.rule.speed) if self.is_composed else self.rule.speed.metric
        return pooling.pools_of(self.grouped, stage, speed).get(self.main_group)

    @cached_property
    def drift(self) -> machine.Drift | None:
        """The change of the machine's speed in the course of the run; None if not known."""
        return machine.drift_of(self.grouped, self.main_group, self.sweep.baseline, self.rule)

    @cached_property
    def interference(self) -> machine.Interference | None:
        """The effect of co-located trials on each other; None if it was not checked."""
        return machine.interference_effect(self.trials, self.sweep)

    @property
    def noise(self) -> dict[str, pooling.Pool | machine.Drift | machine.Interference | None]:
        """What varies the speeds of all configs, by its name in ``recommended.json``."""
        return {"noise_floor": self.pool, "drift": self.drift, "interference": self.interference}

    @cached_property
    def _completed(self) -> pd.DataFrame:
        """The :attr:`configs` from the searching runs alone."""
        if self.final_rows.empty:
            return self.configs
        return self._searched(self.searched, TrialState.COMPLETED)

    def measured_in(self, config: Mapping[str, Any], group: str) -> tuple[Stage, str]:
        """Return the stage and group of a config's figures: of its confirm runs, if it has any.

        Confirm runs that are comparable with ``group``, of its searching runs, come before others.
        """
        groups = self.finals.loc[rows_of(self.finals, config), GROUP].tolist()
        if not groups:
            return Stage.TRAIN, group
        return FINAL, group if group in groups else str(groups[0])

    def searched_configs(self, state: TrialState = TrialState.COMPLETED) -> pd.DataFrame:
        """Return the main group's configs in a state, from the searching runs alone."""
        is_completed = state is TrialState.COMPLETED
        configs = self._completed if is_completed else self._searched(self.searched, state)
        return configs[configs[GROUP] == self.main_group]

    def configs_with_runs(self, metric: str) -> pd.DataFrame:
        """Return the :attr:`configs`; composed ones with the runs of a figure, and its noise."""
        configs, speed = self.configs, self.rule.speed
        return with_runs(configs, metric, speed) if self.is_composed else configs

    def combinations(self, rows: pd.DataFrame) -> "pd.Series[int] | None":
        """Return a number for rows that learn alike; None if a curve is of its own config alone."""
        if not self.is_composed:
            return None
        return with_keys(rows, self.candidates, self.roles)[0][COMBINATION]

    def learning_of(self, config: Mapping[str, Any]) -> Config:
        """Return the knob values that a learning curve of this config is of."""
        is_free = {k for k, role in self.roles.items() if self.is_composed and role is Role.SYSTEMS}
        return {name: value for name, value in config.items() if name not in is_free}

    def only(self, are_asked: "pd.Series[bool]") -> "RunTables":
        """Return the run with some of its trials alone: ``run.only(run.trials["seed"] == 0)``."""
        return replace(self, trials=self.trials[are_asked].reset_index(drop=True))

    def aiming_at(self, target: float) -> "RunTables":
        """Return the run as one of a sweep with this accuracy as its target."""
        accuracy = self.rule.accuracy
        wanted = Objective(accuracy.metric, accuracy.goal, bound=target)
        return replace(self, sweep=replace(self.sweep, target=wanted))

    def times_to(self, target: float, configs: pd.DataFrame) -> pd.DataFrame:
        """Return when configs of this run reach an accuracy, by their index.

        A config with fast steps may learn little in each: a batch of all samples is one step an
        epoch. So epochs do not compare configs, and time does.

        Args:
            target: The accuracy.
            configs: Rows of :attr:`configs`.

        Returns:
            ``reached_s`` with its interval ``reached_low`` to ``reached_high``, the first objective
            of a sweep that minimises the time to this target; ``num_reached`` of ``num_runs``;
            ``trained_s``, the median of their training times, NaN without reports.
        """
        aiming, keys = self.aiming_at(target), [*params_of(configs), GROUP]
        soonest = (minimize(TIME.removeprefix("metrics.")), self.rule.accuracy)
        aiming = replace(aiming, sweep=replace(aiming.sweep, objectives=soonest))
        known = aiming.configs.reindex(columns=[*keys, TIME, f"{TIME}_low", f"{TIME}_high"])
        known = configs[keys].merge(known, how="left", on=keys).set_axis(configs.index)
        runs = configs["curve_ids" if self.is_composed else "timed_ids"].explode()
        trials = numbers_of(aiming.grouped.set_index("trial_id"), TIME)
        is_there = runs.isin(trials.index[trials.notna()]).groupby(level=0)
        curves = self.whole_curves
        ends = clock_of(curves).groupby(curves["trial_id"]).max()
        trained_s = runs.map(ends).astype("float64").groupby(level=0).median()
        return pd.DataFrame(
            {
                "reached_s": known[TIME],
                "reached_low": known[f"{TIME}_low"],
                "reached_high": known[f"{TIME}_high"],
                "num_reached": is_there.sum(),
                "num_runs": is_there.size(),
                "trained_s": numbers_of(configs, _TRAIN_S) if self.is_composed else trained_s,
            },
            index=configs.index,
        )

    @property
    def time_counts(self) -> str:
        """What :meth:`times_to` counts, as a clause."""
        if self.is_composed:
            return "the epochs of each curve at the composed time of an epoch, without evaluation"
        clock = "from the start of the trial's process, evaluation included"
        if CLOCK in self.whole_curves and self.whole_curves[CLOCK].notna().all():
            clock = "in training epochs alone"
        return f"time counts {clock}, as finely as accuracy was evaluated"

    def _searched(self, rows: pd.DataFrame, state: TrialState) -> pd.DataFrame:
        if not self.is_composed:
            configs = by_config(rows, states=[state], speed=self.rule.speed.metric)
            return configs.assign(**{COMPOSED: False})
        return compose(
            rows,
            self.whole_curves,
            candidates=self.candidates,
            roles=self.roles,
            objectives=(self.rule.speed, self.rule.accuracy, *self.sweep.objectives),
            state=state,
        )


def run_intervals(grouped: pd.DataFrame) -> "dict[str, pd.Series[Any]]":
    """Return the ends of each row's interval and :data:`OVER`, by column; {} without speeds.

    A run's own interval, over the blocks within it, is narrower than the difference between two
    fresh runs of one config. So the intervals contain the config's rate over fresh processes in
    95 % of cases, by the spread of :mod:`orchestrator.analysis.statistics.pooling`. If nothing was
    repeated they are the intervals within the run, and empty if it has none.

    Args:
        grouped: The trials, with the ``group`` of comparable rows.
    """
    name = f"metrics.{SPEED}"
    if name not in grouped.columns or grouped.empty:
        return {}
    within = grouped.reindex(columns=[f"{name}_within_low", f"{name}_within_high"])
    low, high = (within[column].astype("float64") for column in within.columns)
    over = pd.Series(pooling.OVER_ONE_RUN, index=grouped.index, dtype="str").where(low.notna())
    configs = pooling.config_ids(grouped)
    for stage in Stage:
        rows = grouped[(grouped["stage"] == stage) & (grouped[name] > 0)]
        ids = configs[rows.index]
        own = pooling.speed_cells(rows, [ids], SPEED)
        cells = pd.DataFrame({"config": ids, GROUP: rows[GROUP]})
        cells = cells.join(own[["variance", "num"]], on="config")
        cells["within"] = pooling.speed_cells(rows, [rows.index.to_series()], SPEED)["within"]
        spread = pooling.spread_of(cells, grouped, stage, SPEED).dropna()
        half = t_quantile(spread["df"].to_numpy()) * np.sqrt(spread["variance"])
        low = (rows[name] * np.exp(-half)).reindex(grouped.index).fillna(low)
        high = (rows[name] * np.exp(half)).reindex(grouped.index).fillna(high)
        over = spread["interval"].reindex(grouped.index).fillna(over)
    return {f"{name}_low": low, f"{name}_high": high, OVER: over}
