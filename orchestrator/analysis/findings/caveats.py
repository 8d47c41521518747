"""Checks of what the figures of a run rest on, each with its words; those that fail are caveats."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import Config, rows_of
from orchestrator.analysis.comparable import GROUP, group_notes
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.reasons import most_often
from orchestrator.analysis.findings.words import Marked, changes_of, named
from orchestrator.analysis.knobs.effects import effects
from orchestrator.analysis.knobs.figures import is_negligible
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.starts import break_even
from orchestrator.analysis.rule import column_of, reaches
from orchestrator.analysis.statistics.pooling import OVER_ONE_RUN, load_text
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import learned_word, short, shown
from orchestrator.formats import counted
from orchestrator.space.configs import format_value, same_config
from orchestrator.space.knob import Role
from orchestrator.trial import LOAD, Isolation, Stage, TrialState

_CLASSES: Final = "metrics.val_classes_predicted"
_MOST_CV: Final = 0.15
"""Spread at which one of twenty pairs of runs of one config differs by a factor of 1.5."""
_LOST: Final = {
    TrialState.FAILED: "failed",
    TrialState.INFEASIBLE: "cannot run here",
    TrialState.NOT_RUN: "were not run",
}


class Health(Marked):
    """Weight of a finding, the gravest first: whether the figures stand as they are."""

    WARNING = "warning", "!", "bad"
    UNKNOWN = "not known", "?", "open"
    PASS = "pass", "✔", "good"


class Caveat(StrEnum):
    """Names of the checks, the gravest first."""

    REPLAY = "replay"
    DATA = "data"
    ONE_CLASS = "one class"
    OTHER_LOAD = "other load"
    COMPOSED = "composed"
    ROLES = "roles"
    BUDGET = "budget"
    RULE = "rule"
    CONDITIONS = "conditions"
    START = "start"
    EFFECT = "effects"
    ONE_RUN = "one run"
    CONTAMINATED = "contaminated"
    SHARED = "shared cores"
    DRIFT = "drift"
    INTERFERENCE = "interference"
    NOISE = "noise floor"
    EDGE = "edge of range"
    TRIALS = "trials"


OWN_LINES: Final = (Caveat.DATA, Caveat.REPLAY, Caveat.TRIALS)
"""Checks that the terminal and ``answer.md`` have their own lines for."""


@dataclass(frozen=True)
class Finding:
    """One check of what the figures of a run rest on.

    Attributes:
        code: Its kind.
        text: A clause.
        health: Its weight.
        short: What the answer's sentence has of it; "" for nothing.
    """

    code: Caveat
    text: str
    health: Health = Health.WARNING
    short: str = ""


def caveats_of_run(tables: RunTables) -> Iterator[Finding]:
    """Yield the caveats of a run, whichever config is recommended."""
    sweep, trials = tables.sweep, tables.trials
    if sweep.replayed:
        yield Finding(Caveat.REPLAY, f"recorded runs of {sweep.replayed}: nothing was measured")
    other = ", a stand-in for the set that was asked for" if sweep.data_note else ""
    data = f"{sweep.data or 'made by the trainable'}{other}"
    yield Finding(Caveat.DATA, data, Health.WARNING if other else Health.PASS)
    for text in sweep.cuts:
        yield Finding(Caveat.BUDGET, text)
    for text in group_notes(tables.grouped, tables.main_group):
        yield Finding(Caveat.CONDITIONS, text)
    both = [
        name
        for name, knob in sweep.knobs.items()
        if knob.role is Role.SYSTEMS and tables.roles[name] is Role.BOTH
    ]
    if both:
        yield Finding(Caveat.ROLES, f"{' and '.join(both)} declared systems, counted as both")
    disturbed, watched, text = load_text(trials)
    health = Health.WARNING if disturbed else Health.PASS if watched else Health.UNKNOWN
    yield Finding(Caveat.OTHER_LOAD, text, health)
    yield _drift(tables)
    effect = tables.interference
    if effect is not None:
        health = Health.WARNING if effect.is_shown and not effect.acted_on else Health.PASS
        health = health if effect.is_known else Health.UNKNOWN
        yield Finding(Caveat.INTERFERENCE, effect.text, health)
    yield _noise(tables)
    yield _lost_trials(trials)


def caveats_of_choice(
    choice: Choice, tables: RunTables, figures: Mapping[Any, Any], stage: Stage
) -> Iterator[Finding]:
    """Yield the caveats of the config that is recommended.

    Args:
        choice: The config to use.
        tables: The run.
        figures: The row of its figures.
        stage: The stage that they are of.
    """
    if tables.is_composed:
        yield _composed(tables, figures, stage)
    yield from _one_class(tables, choice.config)
    yield from _short_of_the_rule(choice, tables, stage, figures if stage.is_final else {})
    if choice.row.get("interval") == OVER_ONE_RUN:
        text = "selected from one run of each config: the noise between runs was not known then"
        yield Finding(Caveat.ONE_RUN, text, Health.UNKNOWN)
    yield from _starts(choice, tables)
    yield from _without_effect(tables, choice.config)
    if choice.row.get(LOAD):
        text = "all of its runs were contaminated by other load, and its speed is of them"
        yield Finding(Caveat.CONTAMINATED, text)
    timed = tables.grouped[tables.grouped["state"] == TrialState.COMPLETED]
    both = rows_of(timed, choice.config) | rows_of(timed, tables.sweep.baseline)
    if "isolation" in timed and (timed.loc[both, "isolation"] == Isolation.SHARED).any():
        text = "runs of it or of the baseline were timed on shared cores, which nothing isolates"
        yield Finding(Caveat.SHARED, text)
    yield from _edges(tables, choice.config)


def _composed(tables: RunTables, figures: Mapping[Any, Any], stage: Stage) -> Finding:
    if not figures.get(COMPOSED, False):
        return Finding(Caveat.COMPOSED, "the settings were trained end to end", Health.PASS)
    kind = f"{stage} run" if stage.is_final else "probe"
    runs, curves = counted(int(figures["num_runs"]), kind), int(figures["num_all_runs"])
    text = f"speed of {runs}, {learned_word(tables.rule)} of {counted(curves, 'curve')}"
    return Finding(Caveat.COMPOSED, f"{text} of other settings")


def _one_class(tables: RunTables, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a model that predicts one class for the whole split: of the config, of the baseline."""
    trials, baseline = tables.trials, tables.sweep.baseline
    if _CLASSES not in trials.columns:
        return
    trained = (trials["state"] == TrialState.COMPLETED) & (trials["stage"] != Stage.PROBE)
    both = {"its": config} | ({} if same_config(config, baseline) else {"the baseline's": baseline})
    for whose, which in both.items():
        known = trials.loc[trained & rows_of(trials, which), _CLASSES].dropna()
        if num := int((known == 1).sum()):
            text = (
                f"in {num} of {whose} {counted(len(known), 'run')} the model predicts one class "
                "for the whole validation split: its accuracy is that class's share"
            )
            yield Finding(Caveat.ONE_CLASS, text)


def _short_of_the_rule(
    choice: Choice, tables: RunTables, stage: Stage, figures: Mapping[Any, Any]
) -> Iterator[Finding]:
    """Yield where the baseline, and confirm runs, are short of the limits of the searching runs."""
    rule, ranked = tables.rule, tables.ranked
    searched = ranked[ranked[GROUP] == choice.row.get(GROUP)]
    limits = rule.limits(searched)
    own = searched[rows_of(searched, tables.sweep.baseline)].to_dict("records")[:1]
    for start, rows in (("the baseline itself has", own), (f"its {stage} runs reach", [figures])):
        for row, objective in product(rows, rule.conditions):
            metric, limit = objective.metric, limits[objective.metric]
            value = row.get(column_of(objective), math.nan)
            if pd.isna(value) or pd.isna(limit):
                continue
            if not reaches(objective, pd.Series([value]), limit).all():
                text = (
                    f"{start} {metric} {shown(metric, value)}, short of the {shown(metric, limit)} "
                    "that the rule asks for"
                )
                yield Finding(Caveat.RULE, text)


def _starts(choice: Choice, tables: RunTables) -> Iterator[Finding]:
    """Yield after how many epochs a longer start pays: the config's, and one that does not."""
    of, unpaid = tables.sweep.budget.epochs, choice.selection.unpaid
    for one in (break_even(tables, choice.config), unpaid):
        if one is None:
            continue
        is_left_out, num = one is unpaid, one.epochs
        after = "never pays"
        if math.isfinite(num):
            after = f"pays after {math.ceil(num)} of {of} epochs"
            if num > of:
                after = f"pays after {counted(math.ceil(num), 'epoch')}, not within these {of}"
        faster = f"{named(changes_of(one.config, tables))} is faster, but " * is_left_out
        text = (
            f"{faster}its start takes {one.excess_s:.1f} s longer than that of "
            f"{named(changes_of(one.other, tables))} and {after}"
        )
        health = Health.PASS if is_left_out or num <= of else Health.WARNING
        whose = "a faster config's" if is_left_out else "its"
        yield Finding(Caveat.START, text, health, f"{whose} longer start {after}")


def _without_effect(tables: RunTables, config: Config) -> Iterator[Finding]:
    """Yield the knobs, of several changed ones, that matched pairs show to change nothing."""
    changes, unshown = changes_of(config, tables), []
    rows = effects(tables).to_dict("records") if len(changes) > 1 else []
    for change in changes:
        own = [
            is_negligible(row, tables.rule)
            for row in rows
            if row["knob"] == change.knob
            and format_value(row["reference"]) == change.baseline
            and format_value(row["value"]) == change.value
        ]
        if own and all(own):
            unshown.append(change.knob)
    if unshown:
        text = f"no effect shown of {' and '.join(unshown)}"
        yield Finding(Caveat.EFFECT, text, short=text)


def _edges(tables: RunTables, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield each knob at the largest or smallest of three values or more: the best may lie beyond.

    Knobs that were drawn from an interval are left out: one of the draws is always the
    largest. So are values that are as small as the knob allows at all.
    """
    trained, sweep, is_inside = tables.configs, tables.sweep, True
    for name, domain in sweep.space.items():
        value, column = config.get(name), f"params.{name}"
        if not domain.startswith("choice(") or column not in trained or isinstance(value, bool):
            continue
        tried = trained[column].unique()
        if len(tried) < 3 or not isinstance(value, (int, float)):
            continue
        smallest = re.search(r">= (\S+)", sweep.knobs[name].allowed)
        is_least = smallest is not None and value == float(smallest[1])
        is_largest = value == max(tried)
        if is_largest or (value == min(tried) and not is_least):
            is_inside = False
            most, way = ("largest", "beyond") if is_largest else ("smallest", "below")
            text = f"the {most} {name} tried, {short(value)}, was chosen: the best may lie {way} it"
            yield Finding(Caveat.EDGE, text)
    if is_inside:
        text = "no recommended value lies at the edge of what was tried"
        yield Finding(Caveat.EDGE, text, Health.PASS)


def _drift(tables: RunTables) -> Finding:
    drift = tables.drift
    if drift is None:
        return Finding(Caveat.DRIFT, "too few configs were repeated", Health.UNKNOWN)
    is_large = drift.is_significant and abs(drift.ratio - 1) > tables.rule.tie_margin
    health = Health.WARNING if is_large else Health.PASS
    return Finding(Caveat.DRIFT, drift.text, health if drift.is_known else Health.UNKNOWN)


def _noise(tables: RunTables) -> Finding:
    if (pool := tables.pool) is None:
        return Finding(Caveat.NOISE, "no config was run twice", Health.UNKNOWN)
    if pool.cv > _MOST_CV:
        text = f"{pool.text}: too much for the search to tell configs apart"
        return Finding(Caveat.NOISE, text)
    return Finding(Caveat.NOISE, pool.text, Health.PASS)


def _lost_trials(trials: pd.DataFrame) -> Finding:
    if trials.empty:
        return Finding(Caveat.TRIALS, "no trial ran")
    counts = {state: int((trials["state"] == state).sum()) for state in _LOST}
    lost = ", ".join(f"{count} {_LOST[state]}" for state, count in counts.items() if count)
    total = counted(len(trials), "trial")
    is_whole = not counts[TrialState.FAILED] + counts[TrialState.NOT_RUN]
    text = f"{lost} of {total}" if lost else f"{total}, each with a result"
    text += most_often(trials.loc[trials["state"].isin(_LOST), "reason"])
    return Finding(Caveat.TRIALS, text, Health.PASS if is_whole else Health.WARNING)
