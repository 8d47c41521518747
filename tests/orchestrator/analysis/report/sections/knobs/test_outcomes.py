"""Words for what was shown."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.report.sections.knobs.outcomes import (
    ALIKE,
    BETTER,
    OPEN,
    WORSE,
    effect_text,
    ends_text,
    legend_of,
    outcome_of,
    word_of,
)
from orchestrator.analysis.rule import Rule
from orchestrator.metrics import maximize, minimize

RULE = Rule(objectives=(maximize("samples_per_s"), maximize("val_acc", tolerance=0.005)))
LEAST = Rule(objectives=(minimize("epoch_s"), minimize("val_loss", tolerance=0.1)))


def row(metric: str, verdict: str, kind: str, low: float, high: float) -> dict[str, object]:
    return {"metric": metric, "verdict": verdict, "kind": kind, "low": low, "high": high}


@pytest.mark.parametrize(
    ("metric", "verdict", "rule", "words"),
    [
        ("samples_per_s", "higher", RULE, "▲ faster"),
        ("samples_per_s", "lower", RULE, "▼ slower"),
        ("epoch_s", "lower", LEAST, "▲ faster"),
        ("val_acc", "lower", RULE, "▼ less accurate"),
        ("val_loss", "lower", LEAST, "▲ better"),
        ("samples_per_s", "equal in every pair", RULE, "= as fast within 2 %"),
        ("peak_rss_gib", "higher", RULE, "▲ better"),
    ],
)
def test_better_is_by_the_goal(metric: str, verdict: str, rule: Rule, words: str) -> None:
    shown = outcome_of(row(metric, verdict, "ratio", 1.1, 1.2), rule)
    assert word_of(shown, metric, rule) == words


@pytest.mark.parametrize(
    ("metric", "kind", "low", "high", "outcome"),
    [
        ("samples_per_s", "ratio", 0.99, 1.015, ALIKE),
        ("samples_per_s", "ratio", 0.97, 1.015, OPEN),
        ("val_acc", "difference", -0.004, 0.005, ALIKE),
        ("val_acc", "difference", -0.006, 0.004, OPEN),
        ("val_acc", "difference", math.nan, math.nan, OPEN),
    ],
)
def test_alike_needs_the_whole_interval_within_the_margin(
    metric: str, kind: str, low: float, high: float, outcome: object
) -> None:
    assert outcome_of(row(metric, "not decided", kind, low, high), RULE) is outcome


def test_a_difference_is_not_held_against_a_margin_that_is_a_share() -> None:
    rule = Rule(objectives=(minimize("val_loss"),))
    assert outcome_of(row("val_loss", "not decided", "difference", -0.012, 0.001), rule) is OPEN


def test_symbols_tell_outcomes_without_colour() -> None:
    assert len({outcome.symbol for outcome in (BETTER, WORSE, ALIKE, OPEN)}) == 4
    assert len({outcome.marker for outcome in (BETTER, WORSE, ALIKE, OPEN)}) == 4


def test_figures_have_their_unit_and_what_is_not_known_has_none() -> None:
    assert effect_text(Kind.RATIO, "samples_per_s", 1.256) == "1.26x"
    assert effect_text(Kind.DIFFERENCE, "val_acc", -0.0123) == "-1.23 points"
    assert effect_text(Kind.DIFFERENCE, "peak_rss_gib", 0.5) == "+0.5 GiB"
    assert effect_text(Kind.RATIO, "samples_per_s", math.nan) == "not known"
    assert ends_text(Kind.DIFFERENCE, "val_acc", -0.001, 0.002) == "-0.10 to +0.20"
    assert ends_text(Kind.RATIO, "samples_per_s", math.nan, math.nan) == ""


def test_figures_of_a_busy_machine_are_said_to_be_such() -> None:
    clean = {"composed": False, "contaminated": False}
    disturbed = {**clean, "contaminated": True}
    assert legend_of(pd.DataFrame([clean])) == []
    [some] = legend_of(pd.DataFrame([clean, disturbed]))
    assert some == "other load disturbed runs of 1 of 2 of these: no clean runs tell them"
    [every] = legend_of(pd.DataFrame([disturbed]))
    assert every.startswith("other load disturbed runs of all of these")
