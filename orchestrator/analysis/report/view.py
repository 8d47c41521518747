"""A run as the report and the picture show it: its tables, joined and marked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import configs_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.recommendation.front import with_confirmed
from orchestrator.analysis.rule import Rule, column_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import format_config, is_share
from orchestrator.metric_table import METRICS, unit_of
from orchestrator.metrics import Objective, minimize
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord

MAX_DRAWN: Final = 5000
"""If there are more configs, not all are drawn; the tables of the run have them."""

_BESIDE: Final = ("peak_rss_gib", "epoch_s", "step_ms")
"""Figures for the other axis with a single objective, if nothing was learned."""


def thinned(configs: pd.DataFrame, *, seed: int, most: int) -> pd.DataFrame:
    """Return the configs in their order, or a random sample if there are more than ``most``.

    The front, the baseline and the recommended config always stay.

    Args:
        configs: With ``on_front``, ``is_baseline`` and ``is_recommended``.
        seed: Of the draw.
        most: Number of configs that stay, unless more are always kept.
    """
    if len(configs) <= most:
        return configs
    marked = are_marked(configs)
    others = configs[~marked]
    room = max(most - int(marked.sum()), 0)
    drawn = others.sample(min(room, len(others)), random_state=seed).index
    return configs[marked | configs.index.isin(drawn)]


def are_marked(configs: pd.DataFrame) -> pd.Series[bool]:
    """Return True for the front, the baseline and the recommended config."""
    return configs["on_front"] | configs["is_baseline"] | configs["is_recommended"]


@dataclass(frozen=True, kw_only=True)
class View:
    """A run, ready to be drawn.

    Attributes:
        tables: The tables of the run.
        findings: The findings of the run.
        sweep: The sweep that was run.
        trials: The trials table, with the ``group`` of comparable rows and a column for every
            objective.
        curves: The curves table.
        all_configs: Configs of stage ``train`` of the main group, with ``on_front``, their
            ``verdict`` against the best, ``is_baseline`` and ``is_recommended``.
        configs: Those that are drawn, with a ``label``; see :func:`thinned`.
        confirmed: Configs of stage ``confirm`` of the main group, without front or verdict.
        others: The front and the baseline of the groups that are not ranked with the main one, by
            their name.
        run_dir: The run's directory; None if it was read from MLflow.
    """

    tables: RunTables
    findings: Findings
    sweep: SweepRecord
    trials: pd.DataFrame
    curves: pd.DataFrame
    all_configs: pd.DataFrame
    configs: pd.DataFrame
    confirmed: pd.DataFrame
    others: Mapping[str, pd.DataFrame]
    run_dir: Path | None = None

    @property
    def num_configs(self) -> int:
        """Configs of the main group."""
        return len(self.all_configs)

    @property
    def num_candidates(self) -> int:
        """Configs of a factored search, composed or not; 0 for another search."""
        return len(self.tables.candidates) if self.tables.is_composed else 0

    @property
    def rule(self) -> Rule:
        """The rule that settings are recommended by."""
        return self.tables.rule

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The sweep's objectives, the speed first."""
        rule = self.rule
        return (rule.speed, *(o for o in rule.objectives if o is not rule.speed))

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The drawn configs, each with one figure: that of its confirm runs if it has any."""
        return with_confirmed(self.configs, self.confirmed, self.rule.speed_column)

    @property
    def beside_speed(self) -> tuple[Objective, ...]:
        """The objectives against which the first one is drawn, one picture each.

        These are the other objectives; with a single objective, another measured figure.
        """
        if len(self.objectives) > 1:
            return self.objectives[1:]
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

    def singled_first(self, configs: pd.DataFrame, speed: str) -> pd.DataFrame:
        """Return configs, the recommended one, the baseline and the front first, then by speed."""
        return configs.assign(singled=are_marked(configs)).sort_values(
            ["singled", speed], ascending=False, kind="stable"
        )


def view_of(tables: RunTables, findings: Findings, run_dir: Path | None = None) -> View:
    """Join a run's tables and mark the configs that the figures emphasise."""
    sweep, main, confirmed = tables.sweep, tables.main_group, tables.confirmed
    ranked = _marked(tables.ranked, sweep, findings)
    is_main = ranked[GROUP] == main
    configs, others = ranked[is_main], ranked[~is_main]
    singled = others[others["on_front"] | others["is_baseline"]]
    return View(
        tables=tables,
        findings=findings,
        sweep=sweep,
        trials=tables.grouped,
        curves=tables.whole_curves,
        all_configs=configs,
        configs=_labelled(thinned(configs, seed=sweep.seed, most=MAX_DRAWN), sweep),
        confirmed=_labelled(_marked(confirmed[confirmed[GROUP] == main], sweep, findings), sweep),
        others={str(name): rows for name, rows in singled.groupby(GROUP, sort=False)},
        run_dir=run_dir,
    )


def _marked(configs: pd.DataFrame, sweep: SweepRecord, findings: Findings) -> pd.DataFrame:
    recommended = findings.config
    nothing = pd.Series(False, index=configs.index)
    return configs.assign(
        is_baseline=rows_of(configs, sweep.baseline),
        is_recommended=nothing if recommended is None else rows_of(configs, recommended),
    )


def _labelled(configs: pd.DataFrame, sweep: SweepRecord) -> pd.DataFrame:
    labels = [format_config(config, sweep) for config in configs_of(configs, sweep)]
    return configs.assign(label=pd.Series(labels, index=configs.index, dtype="object"))


def axis_title(metric: str) -> str:
    """Return a metric's name in words with its unit."""
    unit = unit_of(metric)
    title = METRICS[metric].title if metric in METRICS else ""
    return title or (f"{metric} ({unit})" if unit else metric)


def tick_format(metric: str) -> str:
    """Return d3's number format for a metric's axis."""
    return ".2~%" if is_share(metric) else ""
