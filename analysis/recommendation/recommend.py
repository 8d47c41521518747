"""The settings to use, why, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis.columns import Config, config_of, rows_of
from analysis.comparable import GROUP, with_groups
from analysis.recommendation.boundary import at_boundary
from analysis.recommendation.caveats import (
    crowded,
    drifted,
    how_sure,
    less_accurate_baseline,
    of_its_confirm_runs,
    of_its_runs,
    short_epochs,
    slower_than_best,
    unconfirmed_accuracy,
)
from analysis.recommendation.finalists import faster_finalist
from analysis.recommendation.front import searched_configs
from analysis.recommendation.selection import Selection, select
from analysis.recommendation.speedup import Speedup, speed_up
from analysis.rule import Rule, with_objectives
from analysis.statistics.by_config import by_config
from analysis.statistics.drift import Drift, drift_of
from analysis.statistics.interference import Company, company_effect
from analysis.statistics.noise_floor import NoiseFloor, noise_floor
from analysis.wording import label, setting
from orchestrator.trial import Stage, TrialState

__all__ = ["Recommendation", "Selection", "recommend", "select"]


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """What ``recommended.json`` says.

    Attributes:
        config: A value for every knob, or None where nothing can be recommended.
        why: Why this config; where there is none, the reason.
        how_sure: What the speed-up rests on, in words.
        rule: The rule in words.
        speedup: Over the baseline, or None where there is no config.
        figures: Figures of the config by name, from its confirm runs where it has any,
            otherwise from the runs that selected it.
        measured_in: The stage that ``figures`` are from.
        command: Arguments of ``python -m orchestrator SWEEP.py`` that fix the config.
        notes: What weakens it, a sentence each.
        data: Name of the data set.
        selection: What the searching runs said.
        interval: What the interval of the speed in ``figures`` is over.
        verdict: How the config stands to the best, by all that is known of the noise.
        drift: Whether the machine became slower or faster, or None where that is not known.
        company: What trials beside others lose, or None where none ran both ways.
        noise: What the baseline's own runs differ by, or None where it was not repeated.
    """

    config: Config | None
    why: str
    how_sure: str
    rule: Rule
    speedup: Speedup | None
    figures: Mapping[str, float]
    measured_in: Stage | None
    command: tuple[str, ...]
    notes: tuple[str, ...]
    data: str
    selection: Selection
    interval: str = ""
    verdict: str = ""
    noise: NoiseFloor | None = None
    drift: Drift | None = None
    company: Company | None = None

    def to_json(self) -> dict[str, Any]:
        """As ``recommended.json`` holds it; what is not known is null."""
        figures = {name: _or_none(value) for name, value in self.figures.items()}
        return {
            "config": self.config,
            "command": list(self.command),
            "speedup": None if self.speedup is None else self.speedup.to_json(),
            **figures,
            "interval": self.interval,
            "measured_in": self.measured_in,
            "verdict": self.verdict,
            "noise_floor": None if self.noise is None else self.noise.to_json(),
            "drift": None if self.drift is None else self.drift.to_json(),
            "beside_others": None if self.company is None else self.company.to_json(),
            "why": self.why,
            "how_sure": self.how_sure,
            "notes": list(self.notes),
            "rule": self.rule.text,
            "data": self.data,
            "as_fast": list(self.selection.tied),
            "unresolved": list(self.selection.unresolved),
        }


def recommend(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> Recommendation:
    """Recommends a config by the sweep's rule.

    The runs of stage ``train`` select; the runs of stage ``confirm`` support the claim.
    Where these show the selected config to be slower than the baseline, and the baseline
    is accurate enough, the baseline is recommended.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    trials = with_groups(with_objectives(trials, sweep), sweep)
    selection = select(trials, sweep)
    if selection.config is None:
        return _nothing(selection, trials, sweep)
    selection = faster_finalist(selection, trials, sweep)
    speedup = speed_up(trials, selection.config or {}, sweep, selection.rule)
    if speedup.is_slower:
        selection = _baseline_instead(selection, speedup, trials, sweep)
        speedup = speed_up(trials, selection.config or {}, sweep, selection.rule)
    return _of_selection(selection, speedup, trials, sweep)


def _nothing(
    selection: Selection, trials: pd.DataFrame, sweep: Mapping[str, Any]
) -> Recommendation:
    return Recommendation(
        config=None,
        why=selection.why,
        how_sure="nothing is recommended",
        rule=selection.rule,
        speedup=None,
        figures=dict.fromkeys(_figure_columns(selection.rule), math.nan),
        measured_in=None,
        command=(),
        notes=selection.notes,
        data=str(sweep.get("data", "")),
        selection=selection,
        noise=noise_floor(trials, sweep, selection.rule),
        drift=drift_of(trials, sweep, selection.rule),
        company=company_effect(trials, sweep),
    )


def _of_selection(
    selection: Selection, speedup: Speedup, trials: pd.DataFrame, sweep: Mapping[str, Any]
) -> Recommendation:
    config, rule = selection.config or {}, selection.rule
    row, stage = _figures_row(selection, trials)
    columns = _figure_columns(rule)
    noise = noise_floor(trials, sweep, rule)
    drift, company = drift_of(trials, sweep, rule), company_effect(trials, sweep)
    searched = searched_configs(trials, sweep)
    standing = _standing(config, searched)
    comparable = searched[searched[GROUP] == (selection.row or {}).get(GROUP)]
    return Recommendation(
        config=config,
        why=selection.why,
        how_sure=how_sure(speedup, noise),
        rule=rule,
        speedup=speedup,
        figures={name: row.get(column, math.nan) for name, column in columns.items()},
        measured_in=stage,
        command=command_of(config, sweep),
        notes=(
            *less_accurate_baseline(comparable, rule, sweep["baseline"]),
            *selection.notes,
            *of_its_runs(selection.row or {}),
            *of_its_confirm_runs(speedup, trials, config, sweep["baseline"]),
            *(unconfirmed_accuracy(row, comparable, rule) if stage is Stage.CONFIRM else []),
            *drifted(drift),
            *short_epochs(trials),
            *crowded(company),
            *slower_than_best(standing, rule),
            *at_boundary(trials, config, sweep),
        ),
        data=str(sweep.get("data", "")),
        selection=selection,
        interval=str(row.get("interval", "")),
        verdict=str(standing.get("verdict", "")),
        noise=noise,
        drift=drift,
        company=company,
    )


def command_of(config: Mapping[str, Any], sweep: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that fix a config: its knobs that the sweep varies or changes."""
    names = [
        name
        for name, knob in sweep["knobs"].items()
        if name in config
        and (name in sweep.get("space", {}) or setting(config[name]) != setting(knob["default"]))
    ]
    return tuple(part for name in names for part in ("--set", f"{name}={setting(config[name])}"))


def _figure_columns(rule: Rule) -> dict[str, str]:
    speed = rule.speed_column
    columns = (speed, f"{speed}_low", f"{speed}_high", rule.accuracy_column, rule.test_column)
    return {column.removeprefix("metrics."): column for column in columns}


def _figures_row(selection: Selection, trials: pd.DataFrame) -> tuple[Mapping[Any, Any], Stage]:
    """The config's confirm runs where it has any, else the runs that selected it.

    Of confirm runs under several conditions those that are comparable with the search.
    """
    speed = selection.rule.speed.metric
    confirm = by_config(trials, stage=Stage.CONFIRM, speed=speed)
    of_config = confirm[rows_of(confirm, selection.config or {})]
    if of_config.empty:
        return _with_all_noise(selection, trials), Stage.TRAIN
    rows = of_config.to_dict("records")
    group = (selection.row or {}).get(GROUP)
    return next((row for row in rows if row[GROUP] == group), rows[0]), Stage.CONFIRM


def _with_all_noise(selection: Selection, trials: pd.DataFrame) -> Mapping[Any, Any]:
    """The row that selected, with the interval that all stages' repeats give it."""
    row = selection.row or {}
    for state in (TrialState.COMPLETED, TrialState.STOPPED):
        configs = by_config(trials, states=[state], speed=selection.rule.speed.metric)
        for same in configs[configs["trial_ids"] == row.get("trial_ids")].to_dict("records"):
            return same
    return row


def _standing(config: Mapping[str, Any], searched: pd.DataFrame) -> Mapping[Any, Any]:
    """The config's row among those that are ranked; {} where it is not among them."""
    own = searched[rows_of(searched, config) & (searched["verdict"] != "")]
    return own.iloc[0].to_dict() if len(own) else {}


def _baseline_instead(
    selection: Selection, speedup: Speedup, trials: pd.DataFrame, sweep: Mapping[str, Any]
) -> Selection:
    rule = selection.rule
    configs = by_config(trials, stage=Stage.TRAIN, speed=rule.speed.metric)
    accurate = configs[rule.is_accurate(configs[rule.accuracy_column])]
    baseline = accurate[rows_of(accurate, sweep["baseline"])]
    if baseline.empty:
        note = "the confirm runs show it to be slower than the baseline"
        return replace(selection, notes=(*selection.notes, note))
    row = baseline.iloc[0].to_dict()
    selected = label(selection.config or {}, sweep)
    return replace(
        selection,
        config=config_of(row, sweep),
        row=row,
        tied=(),
        unresolved=(),
        why=f"the baseline; {selected} looked faster in the runs that selected it and is not: "
        f"{speedup.text}",
    )


def _or_none(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
