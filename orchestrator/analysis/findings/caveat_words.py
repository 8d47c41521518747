"""Caveats in words: the notes on an answer, its checks, and the banner of a busy machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas as pd

from orchestrator.analysis.findings.codes import Caveat, Finding, Health
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.recommendation.front import rests_on
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.rule_words import held_by, learned_word
from orchestrator.analysis.wording import MOST_FACTOR, counted, percent, short, shown
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage

BUSY_SHARE: Final = 0.25
"""A machine is busy where other load disturbed at least this share of the runs."""

_CHECKS: Final = {
    Caveat.REPLAY: "replay",
    Caveat.DATA: "data",
    Caveat.ONE_CLASS: "one class",
    Caveat.OTHER_LOAD: "other load",
    Caveat.COMPOSED: "composed",
    Caveat.DRIFT: "drift",
    Caveat.INTERFERENCE: "interference",
    Caveat.NOISE: "noise floor",
    Caveat.EDGE: "edge of range",
    Caveat.CONFIRM_SHORT: "rule",
    Caveat.BASELINE_SHORT: "rule",
    Caveat.CONDITIONS: "conditions",
    Caveat.BUDGET: "budget",
    Caveat.TRIALS: "trials",
}
"""Names of the checks, the gravest first."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of what the figures rest on: noise floor, contamination, drift, edge of range.

    Attributes:
        name: Two or three words.
        health: How it went.
        text: A short sentence with the figure.
    """

    name: str
    health: Health
    text: str


def notes(found: Findings) -> tuple[str, ...]:
    """Return what weakens the recommendation, a clause each; nothing without a config."""
    if found.config is None:
        return ()
    return tuple(text for one in found.caveats if (text := _note(one, found.rule)))


def checks(found: Findings) -> tuple[Check, ...]:
    """Return the checks of a run: warnings first, then what is not known, then what is in order."""
    order, healths = list(_CHECKS), [Health.WARNING, Health.UNKNOWN, Health.PASS]
    known = [one for one in found.caveats if one.code in _CHECKS]
    known.sort(key=lambda one: (healths.index(one.health), order.index(Caveat(one.code))))
    return tuple(
        Check(name=_CHECKS[Caveat(one.code)], health=one.health, text=_check(one, found.rule))
        for one in known
    )


def busy_machine(found: Findings) -> str:
    """Return a sentence on a machine that was busy with something else, with its figures; or ""."""
    load = found.caveat(Caveat.OTHER_LOAD)
    if load is None or not load["watched"] or load["disturbed"] < BUSY_SHARE * load["watched"]:
        return ""
    return (
        f"Other load disturbed {load['disturbed']} of {counted(load['watched'], 'run')}"
        f"{_others_share(load)}: run the sweep again when the machine is idle"
    )


def composed_text(one: Finding, rule: Rule) -> str:
    """Return ``speed of 3 probes, accuracy of 2 curves`` for the caveat of composed figures."""
    speed = counted(one["speed"], "confirm run" if one["stage"] is Stage.CONFIRM else "probe")
    return f"speed of {speed}, {learned_word(rule)} of {counted(one['accuracy'], 'curve')}"


def _note(one: Finding, rule: Rule) -> str:
    """Return a caveat as a note; "" where it is none."""
    match one.code:
        case Caveat.COMPOSED if one["selected"]:
            since = "; confirm runs trained it since" if one.health is Health.PASS else ""
            rests = rests_on(one["row"], learned_word(rule))
            return f"selected by composed figures, {rests}{since}"
        case Caveat.STOPPED:
            return "no trial trained its whole budget: chosen among stopped ones"
        case Caveat.SLOWER:
            return "the confirm runs show it to be slower than the baseline"
        case Caveat.DRIFT if one["drift"] is not None and one["drift"].is_significant:
            return str(one["drift"].text)
        case Caveat.SHORT_EPOCHS:
            return (
                f"{counted(one['num'], 'trial')} of {one['of']} had epochs too short for a steady "
                "state: their speeds are of whole epochs, starts included; on a larger set they "
                "would be higher"
            )
        case Caveat.INTERFERENCE if one["effect"] is None or one["effect"].is_shown:
            return str(one["why"] or one["effect"].text)
        case Caveat.WORSE_THAN_BEST:
            return (
                "by all that is known of the noise it is slower than the fastest config that is "
                f"{held_by(rule)}, at {percent(one['ratio'], digits=1)} of its speed; that is "
                f"within the margin of {percent(rule.tie_margin)}, and it is cheaper"
            )
        case Caveat.EDGE if one.health is Health.PASS:
            return ""
    return _of_runs(one) or _of_both(one)


def _of_runs(one: Finding) -> str:
    """Return a note on the runs of the config that is recommended; "" for another one."""
    num = one.figures.get("num", 0)
    were = "was" if num == 1 else "were"
    match one.code:
        case Caveat.ONE_RUN:
            return "selected from one run of each config: the noise between runs was not known then"
        case Caveat.ALL_CONTAMINATED:
            return (
                "all of its runs were contaminated, and its speed is of them all the same: "
                "something else ran on its cores"
            )
        case Caveat.LEFT_OUT:
            return (
                f"{counted(num, 'contaminated run')} of it {were} left out of its speed, not of "
                "what it learned: something else ran on its cores"
            )
        case Caveat.SHARED:
            return "it was timed on shared cores, with no promise that it was isolated"
        case Caveat.LOST:
            return f"{counted(num, 'run')} of it did not complete"
        case Caveat.CONFIRM_SHARED:
            return (
                f"{counted(num, 'confirm run')} of it or of the baseline {were} timed on shared "
                "cores, with no promise that it was isolated"
            )
    return ""


def _of_both(one: Finding) -> str:
    """Return a caveat that is a note and a check with the same words; "" for another one."""
    metric = one.figures.get("metric", "")
    match one.code:
        case Caveat.BUDGET | Caveat.CONDITIONS:
            return str(one["text"])
        case Caveat.ONE_CLASS:
            model = f"{one['whose']} model"
            if one["num"] < one["of"]:
                model = f"in {one['num']} of {one['whose']} {one['of']} runs the model"
            accuracy = shown("val_acc", one["accuracy"])
            return (
                f"{model} predicts one class for the whole validation split: val_acc {accuracy} is "
                "no more than that class's share of it"
            )
        case Caveat.BASELINE_SHORT:
            enough = "accurate" if is_accuracy(metric) else "good"
            return (
                f"the baseline itself is not {enough} enough: {metric} "
                f"{shown(metric, one['value'])} when searching, the rule asks for "
                f"{shown(metric, one['limit'])}"
            )
        case Caveat.CONFIRM_SHORT:
            return (
                f"its confirm runs reach {metric} {shown(metric, one['value'])}, short of the "
                f"{shown(metric, one['limit'])} that the rule asks for"
            )
        case Caveat.EDGE if one.health is Health.WARNING:
            most, way = ("largest", "beyond") if one["is_largest"] else ("smallest", "below")
            return (
                f"the {most} {one['knob']} tried, {short(one['value'])}, was chosen: the best may "
                f"lie {way} it"
            )
    return ""


def _check(one: Finding, rule: Rule) -> str:
    match one.code:
        case Caveat.REPLAY:
            return f"recorded runs of {one['source']}: nothing was measured"
        case Caveat.DATA:
            if one.health is Health.WARNING:
                return f"{one['name']}, a stand-in for the set that was asked for"
            return one["name"] or "made by the trainable"
        case Caveat.OTHER_LOAD:
            if one.health is Health.UNKNOWN:
                return "no run was watched for other load"
            runs = counted(one["watched"], "run")
            return f"{one['disturbed']} of {runs} disturbed{_others_share(one)}"
        case Caveat.COMPOSED:
            if one.health is Health.PASS:
                return "the settings were trained end to end"
            return f"{composed_text(one, rule)} of other settings"
        case Caveat.DRIFT | Caveat.INTERFERENCE | Caveat.NOISE:
            return _machine(one)
        case Caveat.EDGE if one.health is Health.PASS:
            return "no recommended value lies at the edge of what was tried"
        case Caveat.TRIALS:
            return _trials(one)
    return _of_both(one)


def _machine(one: Finding) -> str:
    """Return the check of drift, interference or noise."""
    _, measured = next(iter(one.figures.items()))
    if measured is None:
        return {
            Caveat.DRIFT: "too few configs were repeated to tell",
            Caveat.INTERFERENCE: (
                "not known: the check's trials were over before others ran beside them"
            ),
            Caveat.NOISE: "the baseline was not repeated",
        }[Caveat(one.code)]
    if one.code is Caveat.NOISE:
        start = "runs of the baseline differ by"
        if not measured.is_known:
            return f"{start} more than a factor of {MOST_FACTOR:g}"
        within = ": the speed-up is within it" if one["within"] else ""
        return f"{start} up to {percent(measured.largest_ratio - 1, digits=1)}{within}"
    if not measured.is_known:
        return f"not known: the interval spans more than a factor of {MOST_FACTOR:g}"
    if one.code is Caveat.DRIFT:
        change = f"{100 * measured.change:+.1f} %"
        is_shown = measured.is_significant
        return f"speeds changed by {change}" if is_shown else f"none shown ({change})"
    ratio = percent(measured.ratio)
    if measured.is_shown:
        return f"co-located trials have {ratio} of the isolated speed"
    return f"not shown ({ratio})"


def _trials(one: Finding) -> str:
    if not one["num"]:
        return "no trial ran"
    counts = {
        "failed": one["failed"],
        "cannot run here": one["infeasible"],
        "were not run": one["not_run"],
    }
    lost = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    total = counted(one["num"], "trial")
    return f"{lost} of {total}" if lost else f"{total}, each with a result"


def _others_share(load: Finding) -> str:
    """Return the mean load of others on the cores of disturbed runs, or ""."""
    share = load["foreign_share"]
    return "" if pd.isna(share) else f", where others took {percent(share)} of their cores' time"
