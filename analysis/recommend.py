"""The settings to use, why, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis.boundary import at_boundary
from analysis.columns import Config, config_of, rows_of
from analysis.configs import by_config
from analysis.rule import Rule
from analysis.selection import Selection, select
from analysis.speedup import Basis, Speedup, speed_up
from analysis.wording import label, setting, shown
from orchestrator.trial import Stage

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

    def to_json(self) -> dict[str, Any]:
        """As ``recommended.json`` holds it; what is not known is null."""
        figures = {name: _or_none(value) for name, value in self.figures.items()}
        return {
            "config": self.config,
            "command": list(self.command),
            "speedup": None if self.speedup is None else self.speedup.to_json(),
            **figures,
            "measured_in": self.measured_in,
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
    selection = select(trials, sweep)
    if selection.config is None:
        return _nothing(selection, sweep)
    speedup = speed_up(trials, selection.config, sweep, selection.rule)
    if speedup.is_slower:
        selection = _baseline_instead(selection, speedup, trials, sweep)
        speedup = speed_up(trials, selection.config or {}, sweep, selection.rule)
    return _of_selection(selection, speedup, trials, sweep)


def _nothing(selection: Selection, sweep: Mapping[str, Any]) -> Recommendation:
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
    )


def _of_selection(
    selection: Selection, speedup: Speedup, trials: pd.DataFrame, sweep: Mapping[str, Any]
) -> Recommendation:
    config, rule = selection.config or {}, selection.rule
    row, stage = _figures_row(selection, trials)
    columns = _figure_columns(rule)
    return Recommendation(
        config=config,
        why=selection.why,
        how_sure=_how_sure(speedup),
        rule=rule,
        speedup=speedup,
        figures={name: row.get(column, math.nan) for name, column in columns.items()},
        measured_in=stage,
        command=command_of(config, sweep),
        notes=(
            *selection.notes,
            *_confirmed_accuracy(row, stage, trials, rule),
            *at_boundary(trials, config, sweep),
        ),
        data=str(sweep.get("data", "")),
        selection=selection,
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
    """The config's confirm runs where it has any, else the runs that selected it."""
    confirm = by_config(trials, stage=Stage.CONFIRM, speed=selection.rule.speed.metric)
    of_config = confirm[rows_of(confirm, selection.config or {})]
    if of_config.empty:
        return selection.row or {}, Stage.TRAIN
    return of_config.iloc[0].to_dict(), Stage.CONFIRM


def _how_sure(speedup: Speedup) -> str:
    if speedup.basis is Basis.CONFIRM and speedup.num_pairs > 1 and not speedup.is_shown:
        return f"{speedup.text}; so it is not shown to be faster than the baseline"
    return speedup.text


def _confirmed_accuracy(
    row: Mapping[Any, Any], stage: Stage, trials: pd.DataFrame, rule: Rule
) -> list[str]:
    """A sentence where the confirm runs are less accurate than the rule asks for."""
    reached = row.get(rule.accuracy_column, math.nan)
    if stage is not Stage.CONFIRM or pd.isna(reached):
        return []
    searched = by_config(trials, stage=Stage.TRAIN, speed=rule.speed.metric)[rule.accuracy_column]
    if searched.isna().all():
        return []
    best = rule.best_accuracy(searched)
    limit = best - rule.accuracy.sign * rule.tolerance
    if rule.accuracy.sign * (reached - limit) >= -1e-9:
        return []
    metric = rule.accuracy.metric
    return [
        f"its confirm runs reach {metric} {shown(metric, reached)}, short of the "
        f"{shown(metric, limit)} that the rule asks for"
    ]


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
