"""A run as the report and the picture show it: its tables, joined and marked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import configs_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.findings.findings import Findings, findings
from orchestrator.analysis.recommendation.front import with_finals
from orchestrator.analysis.rule import Rule, column_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import format_config
from orchestrator.metrics import Objective, minimize
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord

MAX_DRAWN: Final = 5000
"""If there are more configs, not all are drawn; the tables of the run have them."""

_BESIDE: Final = ("peak_rss_gib", "epoch_s", "step_ms")
"""Figures for the other axis with a single objective, if nothing was learned."""


def limited(rows: pd.DataFrame, most: int, kept: "pd.Series[bool]") -> pd.DataFrame:
    """Return at most so many rows, in their order: the kept ones, then the first of the others."""
    places = np.argsort(~kept.to_numpy(dtype=np.bool_), kind="stable")
    return rows.iloc[np.sort(places[:most])]


def are_marked(configs: pd.DataFrame) -> "pd.Series[bool]":
    """Return True for the front, the baseline and the recommended config."""
    return configs["on_front"] | configs["is_baseline"] | configs["is_recommended"]


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """A run, ready to be drawn; everything derived is computed once, at its first use.

    Attributes:
        tables: The tables of the run.
        run_dir: The run's directory; None if it was read from MLflow.
    """

    tables: RunTables
    run_dir: Path | None = None

    @cached_property
    def findings(self) -> Findings:
        """The findings of the run."""
        return findings(self.tables)

    @property
    def sweep(self) -> SweepRecord:
        """The sweep that was run."""
        return self.tables.sweep

    @property
    def rule(self) -> Rule:
        """The rule that settings are recommended by."""
        return self.tables.rule

    @property
    def trials(self) -> pd.DataFrame:
        """The trials, with their ``group`` and a column for every objective."""
        return self.tables.grouped

    @cached_property
    def all_configs(self) -> pd.DataFrame:
        """Configs of stage ``train`` of the main group.

        With ``on_front``, their ``verdict`` against the best, ``is_baseline``, ``is_recommended``.
        """
        ranked = self.tables.ranked
        return self._marked(ranked[ranked[GROUP] == self.tables.main_group])

    @cached_property
    def configs(self) -> pd.DataFrame:
        """Those of :attr:`all_configs` that are drawn, with a ``label``.

        If there are more than :data:`MAX_DRAWN`: the marked ones and a random sample.
        """
        drawn = self.all_configs
        if len(drawn) > MAX_DRAWN:
            drawn = drawn.sample(frac=1, random_state=self.sweep.seed)
            drawn = limited(drawn, MAX_DRAWN, are_marked(drawn)).sort_index()
        return self._labelled(drawn)

    @cached_property
    def finals(self) -> pd.DataFrame:
        """Configs of stage ``confirm`` of the main group, without front or verdict."""
        finals = self.tables.finals
        main = finals[finals[GROUP] == self.tables.main_group]
        return self._labelled(self._marked(main))

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The drawn configs, each with the figure of its confirm runs if it has any."""
        return with_finals(self.configs, self.finals, self.rule.speed_column)

    @property
    def beside_speed(self) -> tuple[Objective, ...]:
        """The objectives against which the first one is drawn, one picture each.

        These are the other objectives; with a single objective, another measured figure.
        """
        if len(self.rule.objectives) > 1:
            return self.rule.objectives[1:]
        known = [
            one
            for one in (self.rule.accuracy, *map(minimize, _BESIDE))
            if one.metric != self.rule.speed.metric and column_of(one) in self.configs
            if self.configs[column_of(one)].notna().any()
        ]
        return tuple(known[:1])

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        """The files with the output of trials, by trial id, as links relative to the page."""
        folder = None if self.run_dir is None else self.run_dir / RunFile.OUTPUT
        files = folder.glob("*.txt") if folder is not None else ()
        return {file.stem: f"{RunFile.OUTPUT}/{file.name}" for file in files}

    def _marked(self, configs: pd.DataFrame) -> pd.DataFrame:
        recommended = self.findings.config
        nothing = pd.Series(False, index=configs.index)
        return configs.assign(
            is_baseline=rows_of(configs, self.sweep.baseline),
            is_recommended=nothing if recommended is None else rows_of(configs, recommended),
        )

    def _labelled(self, configs: pd.DataFrame) -> pd.DataFrame:
        labels = [format_config(c, self.sweep) for c in configs_of(configs, self.sweep)]
        return configs.assign(label=pd.Series(labels, index=configs.index, dtype="object"))
