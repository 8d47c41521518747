"""A run's tables, and what every part of the analysis makes of them first."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import pandas as pd

from analysis.comparable import GROUP, main_group, with_groups
from analysis.rule import Rule, rule_of, with_objectives
from analysis.statistics.against_best import against_best
from analysis.statistics.by_config import by_config
from analysis.statistics.drift import Drift, drift_of
from analysis.statistics.interference import Interference, interference_effect
from analysis.statistics.noise_floor import NoiseFloor, noise_floor
from analysis.statistics.pareto import pareto_front
from analysis.statistics.pooling import Pool, pools_of
from analysis.statistics.run_intervals import run_intervals
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.storage.tables import CURVE_COLUMNS
from orchestrator.trial import Stage, TrialState

_STEPS: Final = (
    "trial_id", "epoch", "first_step", "num_steps", "samples", "duration_s", "dropped",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class RunTables:
    """The tables of one run; everything below them is made once, when it is first asked for.

    Attributes:
        trials: One row a trial, as ``trials.parquet`` holds it.
        curves: One row a report, as ``curves.parquet`` holds it.
        steps: One row a block of steps, as ``steps.parquet`` holds it.
        sweep: The sweep that was run.
    """

    trials: pd.DataFrame
    curves: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(CURVE_COLUMNS)))
    steps: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(_STEPS)))
    sweep: SweepRecord

    @cached_property
    def rule(self) -> Rule:
        """The rule that configs are recommended by.

        Raises:
            SweepError: The sweep's objectives state no rule.
        """
        return rule_of(self.sweep)

    @cached_property
    def grouped(self) -> pd.DataFrame:
        """The trials with the ``group`` of comparable rows and a column for every objective."""
        return with_groups(with_objectives(self.trials, self.sweep.objectives), self.sweep)

    @cached_property
    def main_group(self) -> str:
        """The group that a config is recommended from."""
        return main_group(self.grouped)

    @cached_property
    def searched(self) -> pd.DataFrame:
        """The rows of :attr:`grouped` that may select: all but those of the confirm stage."""
        return self.grouped[self.grouped["stage"] != Stage.CONFIRM]

    @cached_property
    def confirm_rows(self) -> pd.DataFrame:
        """The rows of :attr:`grouped` of the confirm stage, which support a claim."""
        return self.grouped[self.grouped["stage"] == Stage.CONFIRM]

    @cached_property
    def configs(self) -> pd.DataFrame:
        """The completed configs of stage ``train``, one row a config and group.

        Their intervals rest on the repeats of all stages; see
        :func:`~analysis.statistics.by_config.by_config`.
        """
        return self._by_config(self.grouped, Stage.TRAIN)

    @cached_property
    def confirmed(self) -> pd.DataFrame:
        """The completed configs of the confirm stage, one row a config and group."""
        return self._by_config(self.grouped, Stage.CONFIRM)

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """The :attr:`configs` with their verdict against the best, and ``on_front``.

        Each group has a best and a front of its own; the main group comes first.
        """
        configs = against_best(self.configs, self.rule).assign(on_front=False)
        objectives = self.sweep.objectives
        if {f"metrics.{objective.metric}" for objective in objectives} <= set(configs.columns):
            for _, group in configs.groupby(GROUP, sort=False):
                configs.loc[group.index, "on_front"] = pareto_front(group, objectives)
        is_main = configs[GROUP] == self.main_group
        return pd.concat([configs[is_main], configs[~is_main]], ignore_index=True)

    @cached_property
    def pool(self) -> Pool | None:
        """The spread between fresh runs of one config of the main group; None where not known."""
        pools = pools_of(self.grouped, stage=Stage.TRAIN, speed=self.rule.speed.metric)
        return pools[self.main_group][0] if self.main_group in pools else None

    @cached_property
    def noise_floor(self) -> NoiseFloor | None:
        """The difference between runs of the baseline; None where it was not repeated."""
        return noise_floor(self.grouped, self.sweep.baseline, self.rule)

    @cached_property
    def drift(self) -> Drift | None:
        """The change of the machine's speed in the course of the run; None where not known."""
        return drift_of(self.grouped, self.main_group, self.sweep.baseline, self.rule)

    @cached_property
    def interference(self) -> Interference | None:
        """The effect of co-located trials on each other; None where it was not looked at."""
        return interference_effect(self.trials, self.sweep)

    def searched_configs(self, state: TrialState = TrialState.COMPLETED) -> pd.DataFrame:
        """Return the configs of stage ``train`` in the main group by the searching runs alone.

        Not even the noise of the confirm runs may select.

        Args:
            state: How the runs ended that count.
        """
        configs = self._by_config(self.searched, Stage.TRAIN, state)
        return configs[configs[GROUP] == self.main_group]

    def _by_config(
        self, rows: pd.DataFrame, stage: Stage, state: TrialState = TrialState.COMPLETED
    ) -> pd.DataFrame:
        return by_config(rows, stage=stage, states=[state], speed=self.rule.speed.metric)


def with_run_intervals(trials: pd.DataFrame, sweep: SweepRecord) -> pd.DataFrame:
    """Return the trials with the interval of each run's speed over fresh runs of its config."""
    tables = RunTables(trials=trials, sweep=sweep)
    return trials.assign(**run_intervals(tables.grouped))
