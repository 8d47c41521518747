"""Caveats: what the figures of a run rest on, and what weakens them, each with its words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import rows_of, same_config
from orchestrator.analysis.comparable import GROUP, group_notes
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.codes import Caveat, Finding, Health
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.front import rests_on
from orchestrator.analysis.recommendation.speedup import Basis
from orchestrator.analysis.rule import column_of, reaches
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.statistics.pooling import OVER_ONE_RUN, load_text
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import MOST_FACTOR, short, shown
from orchestrator.formats import counted, percent
from orchestrator.trial import Isolation, Stage, TrialState

_CLASSES: Final = "metrics.val_classes_predicted"


def caveats_of_run(tables: RunTables, choice: Choice | None) -> Iterator[Finding]:
    """Yield the caveats of a run, whichever config is recommended."""
    sweep, trials = tables.sweep, tables.trials
    if sweep.replayed:
        text = f"recorded runs of {sweep.replayed}: nothing was measured"
        yield Finding(Caveat.REPLAY, text)
    data = sweep.data or "made by the trainable"
    if sweep.data_note:
        yield Finding(Caveat.DATA, f"{data}, a stand-in for the set that was asked for")
    else:
        yield Finding(Caveat.DATA, data, health=Health.PASS)
    for text in sweep.cuts:
        yield Finding(Caveat.BUDGET, text, text)
    for text in group_notes(tables.grouped, tables.main_group):
        yield Finding(Caveat.CONDITIONS, text, text)
    yield _other_load(trials)
    yield _drift(tables)
    yield from _short_epochs(trials)
    yield from _interference(tables)
    yield _noise(tables, choice)
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
        yield _composed(choice, tables, figures, stage)
    yield from _one_class(tables, choice.config)
    yield from _short_of_the_rule(choice, tables, figures if stage is Stage.CONFIRM else {})
    if choice.row.get("interval") == OVER_ONE_RUN:
        note = "selected from one run of each config: the noise between runs was not known then"
        yield Finding(Caveat.ONE_RUN, note=note)
    yield from _contaminated(choice.row)
    yield from _shared(choice, tables)
    yield from _edges(tables, choice.config)


def _composed(
    choice: Choice, tables: RunTables, figures: Mapping[Any, Any], stage: Stage
) -> Finding:
    learned, is_composed = learned_word(tables.rule), bool(figures.get(COMPOSED, False))
    runs = counted(int(figures["num_runs"]), "confirm run" if stage is Stage.CONFIRM else "probe")
    curves = counted(int(figures["num_all_runs"]), "curve")
    rests = f"speed of {runs}, {learned} of {curves}"
    note = ""
    if choice.row.get(COMPOSED, False):
        since = "" if is_composed else "; confirm runs trained it since"
        note = f"selected by composed figures, {rests_on(choice.row, learned)}{since}"
    text, health = "the settings were trained end to end", Health.PASS
    if is_composed:
        text, health = f"{rests} of other settings", Health.WARNING
    return Finding(Caveat.COMPOSED, text, note, health, {"rests": rests})


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
            yield Finding(Caveat.ONE_CLASS, text, text, figures={"whose": whose})


def _short_of_the_rule(
    choice: Choice, tables: RunTables, confirmed: Mapping[Any, Any]
) -> Iterator[Finding]:
    """Yield where the baseline, and confirm runs, are short of the limits of the searching runs."""
    rule, ranked = tables.rule, tables.ranked
    searched = ranked[ranked[GROUP] == choice.row.get(GROUP)]
    limits = rule.limits(searched)
    own = searched[rows_of(searched, tables.sweep.baseline)]
    is_short = len(own) and not rule.acceptable(searched)[own.index].any()
    baseline: Mapping[Any, Any] = own.iloc[0].to_dict() if is_short else {}
    for start, row in (
        ("the baseline itself has", baseline),
        ("its confirm runs reach", confirmed),
    ):
        for objective in rule.conditions:
            metric, limit = objective.metric, limits[objective.metric]
            value = row.get(column_of(objective), float("nan"))
            if pd.isna(value) or pd.isna(limit):
                continue
            if not reaches(objective, pd.Series([value]), limit).all():
                text = (
                    f"{start} {metric} {shown(metric, value)}, short of the {shown(metric, limit)} "
                    "that the rule asks for"
                )
                yield Finding(Caveat.RULE, text, text, figures={"value": value, "limit": limit})


def _contaminated(row: Mapping[Any, Any]) -> Iterator[Finding]:
    num = int(row.get("num_left_out") or 0)
    if row.get("contaminated"):
        note = "all of its runs were contaminated by other load, and its speed is of them"
    elif num:
        note = f"its speed leaves out {counted(num, 'contaminated run')}, what it learned does not"
    else:
        return
    yield Finding(Caveat.CONTAMINATED, note=note, figures={"num": num})


def _shared(choice: Choice, tables: RunTables) -> Iterator[Finding]:
    """Yield runs on shared cores: of the config's search, or of confirm runs behind a claim."""
    is_shared = choice.row.get("isolation") == Isolation.SHARED
    rows = tables.confirm_rows
    if choice.speedup.basis is Basis.CONFIRM and "isolation" in rows.columns:
        done = rows[(rows["state"] == TrialState.COMPLETED)]
        both = rows_of(done, choice.config) | rows_of(done, tables.sweep.baseline)
        is_shared |= bool((done.loc[both, "isolation"] == Isolation.SHARED).any())
    if is_shared:
        note = "runs of it or of the baseline were timed on shared cores, which nothing isolates"
        yield Finding(Caveat.SHARED, note=note)


def _edges(tables: RunTables, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield each knob at the largest or smallest of three values or more: the best may lie beyond.

    Knobs that were drawn from an interval are left out: one of the draws is always the
    largest. So are values that are as small as the knob allows at all.
    """
    trials, sweep, is_inside = tables.trials, tables.sweep, True
    trained = trials[(trials["stage"] == Stage.TRAIN) & (trials["state"] == TrialState.COMPLETED)]
    if tables.is_composed:  # settings were tried by probes, not by trainings
        trained = tables.configs
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
            figures = {"knob": name, "is_largest": is_largest}
            yield Finding(Caveat.EDGE, text, text, figures=figures)
    if is_inside:
        text = "no recommended value lies at the edge of what was tried"
        yield Finding(Caveat.EDGE, text, health=Health.PASS)


def _other_load(trials: pd.DataFrame) -> Finding:
    """Return the runs that other load disturbed, among those that were watched for it."""
    disturbed, watched, text = load_text(trials)
    health = Health.WARNING if disturbed else Health.PASS if watched else Health.UNKNOWN
    figures = {"disturbed": disturbed, "watched": watched}
    return Finding(Caveat.OTHER_LOAD, text, health=health, figures=figures)


def _drift(tables: RunTables) -> Finding:
    drift = tables.drift
    if drift is None or not drift.is_known:
        text = "too few configs were repeated, or their runs differ too much"
        return Finding(Caveat.DRIFT, text, health=Health.UNKNOWN)
    change = f"{100 * drift.change:+.1f} %"
    if not drift.is_significant:
        return Finding(Caveat.DRIFT, f"none shown ({change})", health=Health.PASS)
    is_large = abs(drift.change) > tables.rule.tie_margin
    health = Health.WARNING if is_large else Health.PASS
    return Finding(Caveat.DRIFT, f"speeds changed by {change}", drift.text, health)


def _short_epochs(trials: pd.DataFrame) -> Iterator[Finding]:
    """Yield speeds of two kinds: of the steady state, and of epochs too short to have one."""
    if "tags.rate" not in trials.columns:
        return
    rates = trials.loc[trials["state"] == TrialState.COMPLETED, "tags.rate"].dropna()
    num = int((rates == "epochs").sum())
    if num not in (0, len(rates)):
        note = (
            f"{counted(num, 'trial')} of {len(rates)} had epochs too short for a steady state: "
            "their speeds are of whole epochs, starts included; on a larger set they would be "
            "higher"
        )
        yield Finding(Caveat.SHORT_EPOCHS, note=note)


def _interference(tables: RunTables) -> Iterator[Finding]:
    effect = tables.interference
    if effect is None:
        return
    if not effect.is_known:
        text = f"not known: the interval spans more than a factor of {MOST_FACTOR:g}"
        yield Finding(Caveat.INTERFERENCE, text, health=Health.UNKNOWN)
    elif effect.is_shown:
        text = f"co-located trials have {percent(effect.ratio)} of the isolated speed"
        health = Health.PASS if effect.acted_on else Health.WARNING
        yield Finding(Caveat.INTERFERENCE, text, effect.text, health)
    else:
        text = f"not shown ({percent(effect.ratio)})"
        yield Finding(Caveat.INTERFERENCE, text, health=Health.PASS)


def _noise(tables: RunTables, choice: Choice | None) -> Finding:
    noise = tables.noise_floor
    if noise is None:
        return Finding(Caveat.NOISE, "the baseline was not repeated", health=Health.UNKNOWN)
    is_within = choice is not None and choice.speedup.is_within(noise)
    size = f"more than a factor of {MOST_FACTOR:g}"
    if noise.is_known:
        size = f"up to {percent(noise.largest_ratio - 1, digits=1)}"
    text = f"runs of the baseline differ by {size}" + ": the speed-up is within it" * is_within
    is_warning = is_within or not noise.is_known
    return Finding(Caveat.NOISE, text, health=Health.WARNING if is_warning else Health.PASS)


def _lost_trials(trials: pd.DataFrame) -> Finding:
    words = {
        TrialState.FAILED: "failed",
        TrialState.INFEASIBLE: "cannot run here",
        TrialState.NOT_RUN: "were not run",
    }
    if trials.empty:
        return Finding(Caveat.TRIALS, "no trial ran")
    counts = {state: int((trials["state"] == state).sum()) for state in words}
    lost = ", ".join(f"{count} {words[state]}" for state, count in counts.items() if count)
    total = counted(len(trials), "trial")
    is_whole = not counts[TrialState.FAILED] + counts[TrialState.NOT_RUN]
    text = f"{lost} of {total}" if lost else f"{total}, each with a result"
    return Finding(Caveat.TRIALS, text, health=Health.PASS if is_whole else Health.WARNING)
