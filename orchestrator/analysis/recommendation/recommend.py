"""The config to use, why, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from orchestrator.analysis.columns import Config, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.recommendation.caveats import caveats_of, how_sure
from orchestrator.analysis.recommendation.choice import Choice, choose
from orchestrator.analysis.recommendation.front import composed_notes
from orchestrator.analysis.recommendation.sentences import speedup_text, why_chosen, why_none
from orchestrator.analysis.recommendation.speedup import Speedup
from orchestrator.analysis.rule import MAJORITY_SHARE, Rule, column_of
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.drift import Drift
from orchestrator.analysis.statistics.interference import Interference
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import is_learned
from orchestrator.space.configs import format_value
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage, TrialState


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The config to use, why, and how sure that is.

    Attributes:
        config: A value for every knob, or None where nothing can be recommended.
        why: Why this config; where there is none, the reason.
        how_sure: What the speed-up rests on, in words.
        rule: The rule by which it was chosen.
        speedup: Over the baseline, or None where there is no config.
        speedup_text: The same in a sentence.
        figures: Figures of the config by name, from its confirm runs where it has any,
            otherwise from the runs that selected it.
        baseline: The baseline's value of every knob.
        baseline_figures: The same figures of the baseline, from the same stage.
        measured_in: The stage that ``figures`` are from.
        composed: True where some of ``figures`` are composed: of probes of its setting, and of
            curves that were trained with another one.
        num_runs: Runs that its ``speed`` and its ``accuracy`` are of: contaminated runs tell an
            accuracy, too.
        command: Arguments of ``python -m orchestrator SWEEP.py`` that fix the config and the data.
        notes: What weakens it, a sentence each.
        data: Name of the data set.
        tied: Configs that are as fast and none of them cheaper.
        unresolved: Configs that more repeats could show to be as fast.
        interval: What the interval of the speed in ``figures`` is over.
        verdict: How the config compares with the best, by all that is known of the noise.
        noise: What the baseline's own runs differ by, or None where it was not repeated.
        drift: Whether the machine became slower or faster, or None where that is not known.
        interference: What co-located trials lose, or None where none ran both ways.
        choice: The way to ``config``; None where there is none.
    """

    config: Config | None = None
    why: str
    how_sure: str
    rule: Rule
    speedup: Speedup | None = None
    speedup_text: str = ""
    figures: Mapping[str, float]
    baseline: Config = field(default_factory=dict)
    baseline_figures: Mapping[str, float] = field(default_factory=dict)
    measured_in: Stage | None = None
    composed: bool = False
    num_runs: Mapping[str, int] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    data: str
    tied: tuple[Config, ...] = ()
    unresolved: tuple[Config, ...] = ()
    interval: str = ""
    verdict: str = ""
    noise: NoiseFloor | None
    drift: Drift | None
    interference: Interference | None
    choice: Choice | None = field(default=None, repr=False)


def recommend(tables: RunTables) -> Recommendation:
    """Recommend a config by the sweep's rule.

    See :func:`~orchestrator.analysis.recommendation.choice.choose`.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    choice = choose(tables)
    if choice is not None:
        return _of_choice(choice, tables)
    return Recommendation(
        why=why_none(tables),
        how_sure="nothing is recommended",
        rule=tables.rule,
        figures=dict.fromkeys(_figure_columns(tables.rule), math.nan),
        baseline=dict(tables.sweep.baseline),
        baseline_figures=_baseline_figures(tables, Stage.TRAIN, tables.main_group),
        data=tables.sweep.data,
        noise=tables.noise_floor,
        drift=tables.drift,
        interference=tables.interference,
    )


def _of_choice(choice: Choice, tables: RunTables) -> Recommendation:
    figures, stage = _figures_row(choice, tables)
    ranked = _ranked_row(choice.config, tables)
    text = speedup_text(choice.speedup, tables)
    return Recommendation(
        config=choice.config,
        why=why_chosen(choice, tables),
        how_sure=how_sure(choice.speedup, text, tables.noise_floor),
        rule=tables.rule,
        speedup=choice.speedup,
        speedup_text=text,
        figures=_named_figures(figures, tables.rule),
        baseline=dict(tables.sweep.baseline),
        baseline_figures=_baseline_figures(tables, stage, str(figures[GROUP])),
        measured_in=stage,
        composed=bool(figures.get(COMPOSED, False)),
        num_runs={"speed": int(figures["num_runs"]), "accuracy": int(figures["num_all_runs"])},
        command=command_of(choice.config, tables.sweep),
        notes=(
            *composed_notes(
                choice.row,
                learned_word(tables.rule),
                is_trained=not bool(figures.get(COMPOSED, False)),
            ),
            *caveats_of(
                choice, tables, confirmed=figures if stage is Stage.CONFIRM else {}, ranked=ranked
            ),
        ),
        data=tables.sweep.data,
        tied=choice.tied,
        unresolved=choice.unresolved,
        interval=str(figures.get("interval", "")),
        verdict=str(ranked.get("verdict", "")),
        noise=tables.noise_floor,
        drift=tables.drift,
        interference=tables.interference,
        choice=choice,
    )


def command_of(config: Mapping[str, Any], sweep: SweepRecord) -> tuple[str, ...]:
    """Return the arguments that train a config, and no other one, on the data of the run.

    A knob is left out only where it is at its default, and the sweep file has it so in the space
    and in the baseline.
    """
    were_set = {setting.partition("=")[0] for setting in sweep.options.get("set") or ()}
    words: list[str] = []
    for name, knob in sweep.knobs.items():
        if name not in config:
            continue
        in_file = {format_value(of.get(name, knob.default)) for of in (sweep.fixed, sweep.baseline)}
        is_default = {format_value(config[name]), *in_file} == {format_value(knob.default)}
        if name in sweep.space or name in were_set or not is_default:
            words += ["--set", f"{name}={format_value(config[name])}"]
    return (*words, *sweep.data_arguments)


def _figure_columns(rule: Rule) -> dict[str, str]:
    """Return the columns of the figures that are recommended with, by figure."""
    speed = rule.speed_column
    columns = (
        speed,
        f"{speed}_low",
        f"{speed}_high",
        *(column_of(objective) for objective in (*rule.objectives, rule.accuracy)),
        rule.test_column,
        MAJORITY_SHARE,
    )
    return {column.removeprefix("metrics."): column for column in columns}


def _named_figures(row: Mapping[Any, Any], rule: Rule) -> dict[str, float]:
    return {name: row.get(column, math.nan) for name, column in _figure_columns(rule).items()}


def _baseline_figures(tables: RunTables, stage: Stage, group: str) -> dict[str, float]:
    """Return the baseline's figures in a stage, what that does not tell from the search.

    What it has learned does not depend on the hardware, and may be from the main group.

    Args:
        tables: The run.
        stage: The stage that the config's figures are from.
        group: The group of comparable rows that they are from.
    """

    def own(rows: pd.DataFrame, group: str) -> dict[str, float]:
        same = rows[rows_of(rows, tables.sweep.baseline) & (rows[GROUP] == group)]
        return _named_figures(same.iloc[0].to_dict(), tables.rule) if len(same) else {}

    of_main = own(tables.configs, tables.main_group)
    figures = [
        *([own(tables.confirmed, group)] if stage is Stage.CONFIRM else []),
        own(tables.configs, group),
        {name: value for name, value in of_main.items() if is_learned(name)},
    ]
    known: dict[str, float] = dict.fromkeys(_figure_columns(tables.rule), math.nan)
    for of_stage in reversed(figures):
        known |= {name: value for name, value in of_stage.items() if not pd.isna(value)}
    return known


def _figures_row(choice: Choice, tables: RunTables) -> tuple[Mapping[Any, Any], Stage]:
    """Return the config's confirm runs where it has any, else the runs that selected it.

    Of confirm runs under several conditions those that are comparable with the search.
    """
    confirmed = tables.confirmed[rows_of(tables.confirmed, choice.config)]
    if confirmed.empty:
        return _with_all_noise(choice, tables), Stage.TRAIN
    rows = confirmed.to_dict("records")
    group = choice.row.get(GROUP)
    row = next((row for row in rows if row[GROUP] == group), rows[0])
    return _with_composed(row, choice.row, tables), Stage.CONFIRM


def _with_composed(
    confirmed: Mapping[Any, Any], searched: Mapping[Any, Any], tables: RunTables
) -> Mapping[Any, Any]:
    """Return the confirm runs' row with what they do not tell, where they are of speed alone."""
    column = tables.rule.accuracy_column
    if not tables.is_composed or not pd.isna(confirmed.get(column, math.nan)):
        return confirmed
    learned = {
        name: searched.get(name, math.nan)
        for name in confirmed
        if str(name).startswith("metrics.") and is_learned(str(name).removeprefix("metrics."))
    }
    counts = {"num_all_runs": searched["num_all_runs"], COMPOSED: searched[COMPOSED]}
    return {**confirmed, **learned, column: searched.get(column, math.nan), **counts}


def _with_all_noise(choice: Choice, tables: RunTables) -> Mapping[Any, Any]:
    """Return the row that selected, with the interval that all stages' repeats give it."""
    configs, state = tables.configs, choice.selection.state
    if state is not TrialState.COMPLETED and tables.is_composed:
        configs = tables.composed(state)
    elif state is not TrialState.COMPLETED:
        configs = by_config(tables.grouped, states=[state], speed=tables.rule.speed.metric)
    same = configs[configs["trial_ids"] == choice.row["trial_ids"]].to_dict("records")
    return same[0] if same else choice.row


def _ranked_row(config: Config, tables: RunTables) -> Mapping[Any, Any]:
    """Return the config's row among those that are ranked; {} where it is not among them."""
    ranked = tables.ranked
    own = ranked[rows_of(ranked, config) & (ranked["verdict"] != "")]
    return own.iloc[0].to_dict() if len(own) else {}
