"""Caveats: what the figures of a run rest on, and what weakens them, each with its words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import Config, rows_of, same_config
from orchestrator.analysis.comparable import GROUP, group_notes
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.answer_figures import has_shown_difference, own_and_composed
from orchestrator.analysis.findings.codes import Caveat, Finding, Health
from orchestrator.analysis.findings.words import changes_of, named
from orchestrator.analysis.knobs.effects import effects
from orchestrator.analysis.knobs.figures import Verdict
from orchestrator.analysis.recommendation.choice import Choice
from orchestrator.analysis.recommendation.front import rests_on
from orchestrator.analysis.recommendation.speedup import Basis
from orchestrator.analysis.recommendation.starts import break_even
from orchestrator.analysis.rule import column_of, reaches
from orchestrator.analysis.statistics.pooling import OVER_ONE_RUN, load_text
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import learned_word, short, shown
from orchestrator.formats import counted
from orchestrator.space.knob import Role
from orchestrator.trial import Isolation, Stage, TrialState

_CLASSES: Final = "metrics.val_classes_predicted"
_LOST: Final = {
    TrialState.FAILED: "failed",
    TrialState.INFEASIBLE: "cannot run here",
    TrialState.NOT_RUN: "were not run",
}


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
        yield Finding(Caveat.DATA, data, Health.PASS)
    for text in sweep.cuts:
        yield Finding(Caveat.BUDGET, text)
    for text in group_notes(tables.grouped, tables.main_group):
        yield Finding(Caveat.CONDITIONS, text)
    if tables.is_composed:
        yield _roles(tables)
    yield _other_load(trials)
    yield _drift(tables)
    yield from _short_epochs(trials)
    effect = tables.interference
    if effect is not None:
        health = Health.WARNING if effect.is_shown and not effect.acted_on else Health.PASS
        health = health if effect.is_known else Health.UNKNOWN
        yield Finding(Caveat.INTERFERENCE, effect.text, health)
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
        text = "selected from one run of each config: the noise between runs was not known then"
        yield Finding(Caveat.ONE_RUN, text, Health.UNKNOWN)
    yield from _starts(choice, tables)
    yield from _without_effect(tables, choice.config)
    if choice.row.get("contaminated"):
        text = "all of its runs were contaminated by other load, and its speed is of them"
        yield Finding(Caveat.CONTAMINATED, text)
    elif num := int(choice.row.get("num_left_out") or 0):
        text = f"its speed leaves out {counted(num, 'contaminated run')}, what it learned does not"
        yield Finding(Caveat.CONTAMINATED, text)
    if _is_shared(choice, tables):
        text = "runs of it or of the baseline were timed on shared cores, which nothing isolates"
        yield Finding(Caveat.SHARED, text)
    yield from _edges(tables, choice.config)


def _composed(
    choice: Choice, tables: RunTables, figures: Mapping[Any, Any], stage: Stage
) -> Finding:
    learned = learned_word(tables.rule)
    if figures.get(COMPOSED, False):
        kind = "confirm run" if stage is Stage.CONFIRM else "probe"
        runs, curves = counted(int(figures["num_runs"]), kind), int(figures["num_all_runs"])
        text = f"speed of {runs}, {learned} of {counted(curves, 'curve')} of other settings"
        return Finding(Caveat.COMPOSED, text)
    text = "the settings were trained end to end"
    if choice.row.get(COMPOSED, False):
        text = f"selected by composed figures, {rests_on(choice.row, learned)}; since then {text}"
    return Finding(Caveat.COMPOSED, text, Health.PASS)


def _roles(tables: RunTables) -> Finding:
    """Return the baseline's accuracy with its own setting, and with that of its curve."""
    objective, known = tables.rule.accuracy, own_and_composed(tables)
    knobs = [
        name
        for name, knob in tables.sweep.knobs.items()
        if knob.role is Role.SYSTEMS and tables.roles[name] is Role.BOTH
    ]
    parts = [f"{' and '.join(knobs)} declared systems, counted as both"] if knobs else []
    health = Health.WARNING if knobs else Health.PASS
    if known is not None:
        own, composed, num = known
        one, other = (shown(objective.metric, value) for value in (own, composed))
        parts.append(
            f"the baseline has {objective.metric} {one} with its own setting and {other} with "
            f"another one, over {counted(num, 'seed')}"
        )
        if abs(own - composed) > (objective.tolerance or 0.0) / 2:
            health = Health.WARNING
    elif not knobs:
        parts, health = ["the baseline was trained with one setting alone"], Health.UNKNOWN
    return Finding(Caveat.ROLES, "; ".join(parts), health)


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
                yield Finding(Caveat.RULE, text)


def _starts(choice: Choice, tables: RunTables) -> Iterator[Finding]:
    """Yield after how many epochs a longer start pays: the config's, and one that does not."""
    of, unpaid = tables.sweep.budget.epochs, choice.selection.unpaid
    for one in (break_even(tables, choice.config), unpaid):
        if one is None:
            continue
        faster = f"{named(changes_of(one.config, tables))} is faster, but "
        after = "never pays"
        if math.isfinite(one.epochs):
            after = f"pays after {counted(math.ceil(one.epochs), 'epoch')}"
        text = (
            f"{faster if one is unpaid else ''}its start takes {one.excess_s:.1f} s longer than "
            f"that of {named(changes_of(one.other, tables))} and {after}, this training has {of}"
        )
        is_fine = one is unpaid or one.epochs <= of
        yield Finding(Caveat.START, text, Health.PASS if is_fine else Health.WARNING)


def _without_effect(tables: RunTables, config: Config) -> Iterator[Finding]:
    """Yield changed knobs that show no difference from the baseline's value, the others kept.

    A knob whose effect the pairs of other configs show is none of them.
    """
    changed = [change.knob for change in changes_of(config, tables)]
    others = {knob: {**config, knob: tables.sweep.baseline[knob]} for knob in changed}
    unshown = [
        knob for knob in changed if has_shown_difference(tables, config, others[knob]) is False
    ]
    if unshown:
        rows = effects(tables)
        shown = rows.loc[rows["verdict"].isin([Verdict.HIGHER, Verdict.LOWER]), "knob"]
        unshown = [knob for knob in unshown if knob not in set(shown)]
    if unshown and len(changed) > 1:
        yield Finding(Caveat.EFFECT, f"no effect shown of {' and '.join(unshown)}")


def _is_shared(choice: Choice, tables: RunTables) -> bool:
    """Return True for shared cores: in the config's search, or in confirm runs behind a claim."""
    rows = tables.confirm_rows
    if choice.row.get("isolation") == Isolation.SHARED:
        return True
    if choice.speedup.basis is not Basis.CONFIRM or "isolation" not in rows.columns:
        return False
    both = rows_of(rows, choice.config) | rows_of(rows, tables.sweep.baseline)
    done = rows[both & (rows["state"] == TrialState.COMPLETED)]
    return bool((done["isolation"] == Isolation.SHARED).any())


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
            yield Finding(Caveat.EDGE, text)
    if is_inside:
        text = "no recommended value lies at the edge of what was tried"
        yield Finding(Caveat.EDGE, text, Health.PASS)


def _other_load(trials: pd.DataFrame) -> Finding:
    disturbed, watched, text = load_text(trials)
    health = Health.WARNING if disturbed else Health.PASS if watched else Health.UNKNOWN
    return Finding(Caveat.OTHER_LOAD, text, health)


def _drift(tables: RunTables) -> Finding:
    drift = tables.drift
    if drift is None:
        return Finding(Caveat.DRIFT, "too few configs were repeated", Health.UNKNOWN)
    is_large = drift.is_significant and abs(drift.ratio - 1) > tables.rule.tie_margin
    health = Health.WARNING if is_large else Health.PASS
    return Finding(Caveat.DRIFT, drift.text, health if drift.is_known else Health.UNKNOWN)


def _short_epochs(trials: pd.DataFrame) -> Iterator[Finding]:
    """Yield speeds of two kinds: of the steady state, and of epochs too short to have one."""
    if "tags.rate" not in trials.columns:
        return
    rates = trials.loc[trials["state"] == TrialState.COMPLETED, "tags.rate"].dropna()
    num = int((rates == "epochs").sum())
    if num not in (0, len(rates)):
        text = (
            f"{counted(num, 'trial')} of {len(rates)} had epochs too short for a steady state: "
            "their speeds are of whole epochs, starts included; on a larger set they would be "
            "higher"
        )
        yield Finding(Caveat.SHORT_EPOCHS, text)


def _noise(tables: RunTables, choice: Choice | None) -> Finding:
    noise = tables.noise_floor
    if noise is None:
        return Finding(Caveat.NOISE, "the baseline was not repeated", Health.UNKNOWN)
    is_within = choice is not None and choice.speedup.is_within(noise)
    text = noise.text + ": the speed-up is within it" * is_within
    is_warning = is_within or not noise.is_known
    return Finding(Caveat.NOISE, text, Health.WARNING if is_warning else Health.PASS)


def _lost_trials(trials: pd.DataFrame) -> Finding:
    if trials.empty:
        return Finding(Caveat.TRIALS, "no trial ran")
    counts = {state: int((trials["state"] == state).sum()) for state in _LOST}
    lost = ", ".join(f"{count} {_LOST[state]}" for state, count in counts.items() if count)
    total = counted(len(trials), "trial")
    is_whole = not counts[TrialState.FAILED] + counts[TrialState.NOT_RUN]
    text = f"{lost} of {total}" if lost else f"{total}, each with a result"
    return Finding(Caveat.TRIALS, text, Health.PASS if is_whole else Health.WARNING)
